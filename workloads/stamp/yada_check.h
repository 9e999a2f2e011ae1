// SPDX-License-Identifier: Apache-2.0
// The check of STAMP's yada (yada.h). It is exact, and relies on nothing about how the mesh was made.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "sections/plain.h"
#include "stamp/yada_geometry.h"
#include "stamp/yada_mesh.h"

namespace workloads::yada {

/// Returns all elements that are reachable from the root through neighbours.
inline std::vector<Element*> all_elements(const Mesh& mesh) {
  sections::Plain plain;
  std::vector<Element*> all;
  std::unordered_set<const Element*> seen;
  const auto reach = [&](Element* element) {
    if (element != nullptr && seen.insert(element).second) all.push_back(element);
  };
  reach(mesh.root());
  for (std::size_t next = 0; next < all.size(); ++next) {
    for (auto* node = all[next]->neighbours.first(plain); node != nullptr; node = node->next)
      reach(node->data);
  }
  return all;
}

/// Checks the mesh after a run: each edge belongs to two elements, which are neighbours; triangles cover
/// the square and do not overlap; they are Delaunay; none has an angle below the limit, and none encroaches
/// a segment; segments are the square's sides.
class Check {
 public:
  /// `number`: the number of elements that sections counted.
  Check(const Mesh& mesh, long number) : mesh_(mesh) {
    const std::vector<Element*> all = all_elements(mesh);
    expect(static_cast<long>(all.size()) == number, "number of elements");
    std::size_t segments = 0;
    Wide area = 0;
    Coordinate length = 0;
    for (const Element* const element : all) {
      expect(!element->is_garbage, "element that is not in the mesh");
      expect_neighbours(*element);
      if (wrong_ != nullptr) return;
      if (element->is_segment()) {
        ++segments;
        length += expect_segment(*element);
      } else {
        area += expect_triangle(*element);
      }
    }
    expect(area == Wide{2} * kSide * kSide, "area");
    expect(length == 4 * kSide, "boundary");
    expect(segments == mesh.boundary_size(), "tree of the boundary");
  }

  /// Returns the first error, or null if all is right.
  const char* wrong() const { return wrong_; }

 private:
  void expect(bool right, const char* what) {
    if (!right && wrong_ == nullptr) wrong_ = what;
  }

  /// Checks that each edge has one neighbour, whose list has this element too.
  void expect_neighbours(const Element& element) {
    std::size_t number = 0;
    bool has[3] = {};
    for (auto* node = element.neighbours.first(plain_); node != nullptr && number < 4; node = node->next) {
      ++number;
      Element& neighbour = *node->data;
      const Edge* const edge = element.common_edge(neighbour);
      expect(edge != nullptr, "neighbours without a common edge");
      expect(neighbour.neighbours.find(plain_, &element) == &element, "neighbours");
      if (edge == nullptr) return;
      bool& is_known = has[edge - element.edges];
      expect(!is_known, "edge of three elements");
      is_known = true;
      if (!element.is_segment() && !neighbour.is_segment()) expect_delaunay(element, neighbour);
      expect(!element.is_segment() || !neighbour.is_segment(), "segment beside a segment");
    }
    expect(number == element.number_of_edges() && number == element.neighbours.length(plain_),
           "number of neighbours");
  }

  /// If this check passes for each edge, no point lies in any triangle's circle.
  void expect_delaunay(const Element& element, const Element& neighbour) {
    for (unsigned i = 0; i < 3; ++i)
      expect(!element.is_in_circle(neighbour.corners[i]), "triangle that is not Delaunay");
  }

  /// Returns twice its area.
  std::int64_t expect_triangle(const Element& element) {
    const Point* const corners = element.corners;
    const std::int64_t area = twice_area(corners[0], corners[1], corners[2]);
    expect(area > 0, "corners of a triangle");
    expect(!mesh_.is_skinny(element), "angle");
    for (auto* node = element.neighbours.first(plain_); node != nullptr; node = node->next) {
      const Element& neighbour = *node->data;
      for (unsigned i = 0; i < 3 && neighbour.is_segment(); ++i)
        expect(!encroaches(corners[i], neighbour.corners[0], neighbour.corners[1]),
               "segment that is encroached");
    }
    return area;
  }

  /// Returns its length.
  Coordinate expect_segment(const Element& element) {
    const Point a = element.corners[0], b = element.corners[1];
    const bool is_upright = a.x == b.x && (a.x == 0 || a.x == kSide);
    expect(is_upright || (a.y == b.y && (a.y == 0 || a.y == kSide)), "segment");
    expect(mesh_.has_boundary(element), "boundary without a segment");
    return is_upright ? b.y - a.y : b.x - a.x;
  }

  const Mesh& mesh_;
  sections::Plain plain_;
  const char* wrong_ = nullptr;
};

}  // namespace workloads::yada
