// SPDX-License-Identifier: Apache-2.0
// An adaptively refined mesh of cubic elements, for ua. An element has 5 x 5 x 5 collocation points, as in
// NPB's classes A to D. The points on its faces add to mortar points, which neighbouring elements share.
//
// A cube of elements is refined twice around a point of the domain: each element near the point is cut into
// eight. Lengths are in quarters of the finest element. Mortar points are numbered in the order in which
// elements reach them, so that most points of an element lie side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "support.h"

namespace workloads::hpc {

inline constexpr std::size_t kSide = 5;  // collocation points along an edge of an element
inline constexpr std::size_t kPoints = kSide * kSide * kSide;
inline constexpr std::size_t kFaces = 6, kFacePoints = kSide * kSide, kCorners = 4, kEdgePoints = 12;

/// The points of each face of an element: first its corners, then those on its edges, then the inner ones.
using FaceTable = std::array<std::array<std::uint8_t, kFacePoints>, kFaces>;

inline FaceTable make_face_table() {
  constexpr std::size_t kStrides[] = {1, kSide, kSide * kSide};
  const auto is_end = [](std::size_t at) { return at == 0 || at == kSide - 1; };
  FaceTable table{};
  for (std::size_t face = 0; face < kFaces; ++face) {
    const std::size_t normal = face / 2, first = face % 2 * (kSide - 1) * kStrides[normal];
    std::array<std::size_t, 3> next = {0, kCorners,
                                       kCorners + kEdgePoints};  // by the number of ends, from two
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) {
        const std::size_t point = first + i * kStrides[(normal + 1) % 3] + j * kStrides[(normal + 2) % 3];
        const int ends = static_cast<int>(is_end(i)) + static_cast<int>(is_end(j));
        table[face][next[static_cast<std::size_t>(2 - ends)]++] = static_cast<std::uint8_t>(point);
      }
    }
  }
  return table;
}

struct Element {
  std::array<int, 3> corner;
  int size;  // length of its edges
};

class Mesh {
 public:
  /// `base`: the number of elements along an edge of the domain before refinement.
  Mesh(std::uint32_t base, std::uint64_t seed) {
    CheapRandom random(seed);
    const int size = static_cast<int>(kSide - 1) << kRefinements;
    const auto edge = static_cast<std::uint32_t>(size) * base;
    for (int& coordinate : centre_) coordinate = static_cast<int>(random.below(edge));
    const auto corner = [size](std::uint32_t index) { return static_cast<int>(index) * size; };
    for (std::uint32_t z = 0; z < base; ++z)
      for (std::uint32_t y = 0; y < base; ++y)
        for (std::uint32_t x = 0; x < base; ++x)
          refine({{corner(x), corner(y), corner(z)}, size}, kRefinements);
    number_mortars();
  }

  std::size_t elements() const { return elements_.size(); }
  std::size_t mortars() const { return sharers_.size(); }
  /// The mortar point of each point of an element; unused for inner points.
  const std::array<std::uint32_t, kPoints>& mortars_of(std::size_t element) const {
    return mortars_of_[element];
  }
  /// Returns how many elements share a mortar point.
  std::uint32_t sharers(std::size_t mortar) const { return sharers_[mortar]; }
  /// Returns whether the element contains the point around which the mesh is refined.
  bool has_source(std::size_t element) const {
    const Element& here = elements_[element];
    bool inside = true;
    for (std::size_t d = 0; d < 3; ++d)
      inside = inside && centre_[d] >= here.corner[d] && centre_[d] < here.corner[d] + here.size;
    return inside;
  }

 private:
  static constexpr int kRefinements = 2;

  bool is_near(const Element& element) const {
    bool near = true;
    for (std::size_t d = 0; d < 3; ++d)
      near = near && std::abs(element.corner[d] + element.size / 2 - centre_[d]) <= element.size;
    return near;
  }

  void refine(const Element& element, int times) {
    if (times == 0 || !is_near(element)) return elements_.push_back(element);
    for (int part = 0; part < 8; ++part) {
      Element child{element.corner, element.size / 2};
      for (std::size_t d = 0; d < 3; ++d) child.corner[d] += (part >> d & 1) * child.size;
      refine(child, times - 1);
    }
  }

  void number_mortars() {
    const FaceTable faces = make_face_table();
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // by coordinates
    mortars_of_.resize(elements_.size());
    for (std::size_t element = 0; element < elements_.size(); ++element) {
      std::array<bool, kPoints> done{};
      for (const auto& face : faces) {
        for (const std::uint8_t point : face) {
          const auto [place, is_new] =
              numbers.try_emplace(key(elements_[element], point), static_cast<std::uint32_t>(numbers.size()));
          if (is_new) sharers_.push_back(0);
          mortars_of_[element][point] = place->second;
          if (!done[point]) ++sharers_[place->second];
          done[point] = true;
        }
      }
    }
  }

  static std::uint64_t key(const Element& element, std::size_t point) {
    std::uint64_t key = 0;
    for (std::size_t d = 0; d < 3; ++d, point /= kSide) {
      const int step = element.size / static_cast<int>(kSide - 1);
      key =
          key << 20 | static_cast<std::uint64_t>(element.corner[d] + static_cast<int>(point % kSide) * step);
    }
    return key;
  }

  std::array<int, 3> centre_{};
  std::vector<Element> elements_;
  std::vector<std::array<std::uint32_t, kPoints>> mortars_of_;
  std::vector<std::uint32_t> sharers_;
};

}  // namespace workloads::hpc
