// SPDX-License-Identifier: Apache-2.0
// Yada (STAMP, "yet another Delaunay application"): refines a triangulation until no triangle has an angle
// below a limit, by Ruppert's algorithm. Written from STAMP's description (Cao Minh et al., IISWC 2008) and
// Ruppert's paper ("A Delaunay Refinement Algorithm for Quality 2-Dimensional Mesh Generation", Journal of
// Algorithms 1995).
//
// The input is a square with random points, a few of them on its sides, in place of the original's files:
// as many as 633.2 has by default. Threads share a heap of bad triangles: with a small angle, or with an
// obtuse one opposite to a segment of the boundary, which it encroaches; these come first. A thread takes
// one and inserts the centre of its circle into the mesh. If that encroaches a segment, it halves the
// segment instead, until the triangle is gone or its centre fits.
//
// Sections: taking a triangle from the heap; a test whether it is still in the mesh; a refinement, which
// grows one cavity or more, replaces their elements and allocates new ones (yada_cavity.h); giving the
// triangle up; putting new bad triangles on the heap; and, once a thread, its part of the counts.
//
// All tests of points are exact (yada_geometry.h). Up to 20.7 degrees, Ruppert's proof says that refinement
// ends, in any order. The triangles that come out depend on the order of sections.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "stamp/heap.h"
#include "stamp/yada_cavity.h"
#include "stamp/yada_check.h"
#include "stamp/yada_input.h"
#include "stamp/yada_mesh.h"

namespace workloads::yada {

inline constexpr const char* kDescription = "STAMP's yada: Delaunay refinement by Ruppert's algorithm";

struct Options {
  sections::TeamOptions team;
  double angle = 20;
  unsigned points = 633;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-a,--angle", options.angle, "least angle of a triangle, in degrees").within_real(0, 20.7);
  line.add("-n,--points", options.points, "of the input").within(4, 1 << 20);
}

inline std::string complaint(const Options&) { return {}; }

/// Triangles that encroach a segment come first.
struct IsMoreUrgent {
  bool operator()(const Element* one, const Element* other) const {
    return one->obtuse != nullptr && other->obtuse == nullptr;
  }
};

/// New bad triangles of a section, in memory of its thread. It never touches pages that it does not need.
class BadTriangles {
 public:
  BadTriangles() : elements_(new Element*[kMost]) {}

  void clear() { number_ = 0; }
  void add(Element* element) {
    if (number_ < kMost) elements_[number_++] = element;
  }
  Element* const* begin() const { return elements_.get(); }
  Element* const* end() const { return elements_.get() + number_; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  const std::unique_ptr<Element*[]> elements_;
  std::size_t number_ = 0;
};

class Refinement {
 public:
  explicit Refinement(const Options& options)
      : mesh_(std::pow(std::cos(options.angle * std::acos(-1.0) / 180), 2)) {
    CheapRandom random(options.team.seed);
    Builder builder(mesh_);
    builder.build(options.points, random);
    elements_ = builder.number();
    std::vector<Element*> bad;
    for (Element* const element : all_elements(mesh_)) {
      if (mesh_.is_bad(*element)) bad.push_back(element);
    }
    sections::Plain plain;
    for (std::size_t left = bad.size(); left != 0; --left) {
      std::swap(bad[left - 1], bad[random.below(static_cast<std::uint32_t>(left))]);
      bad[left - 1]->is_referenced = true;
      heap_.push(plain, bad[left - 1]);
    }
  }
  /// The work of each thread.
  template <class Thread>
  void work(Thread& thread) {
    Cavity cavity;
    BadTriangles bad;
    long growth = 0;
    while (Element* const element = take(thread)) {
      if (is_gone(thread, element)) continue;
      long added = 0;
      thread.atomically([&](auto& transaction) {
        bad.clear();
        added = refine(transaction, element, cavity, bad);
      });
      growth += added;
      give_up(thread, element);
      thread.atomically([&](auto& transaction) { put(transaction, bad); });
    }
    thread.atomically([&](auto& transaction) {
      transaction.write(shared_.growth, transaction.read(shared_.growth) + growth);
    });
  }

  /// Frees all memory. The mesh must be right.
  void clear() {
    sections::Plain plain;
    for (Element* const element : all_elements(mesh_)) {
      element->neighbours.clear(plain);
      plain.release(element);
    }
    mesh_.clear_boundary();
    heap_.clear(plain);
  }

  const Mesh& mesh() const { return mesh_; }
  bool has_work() const {
    sections::Plain plain;
    return !heap_.is_empty(plain);
  }
  long first_number() const { return elements_; }
  /// Returns the number of elements, from the counts of added and removed ones.
  long number() const { return elements_ + shared_.growth; }

 private:
  static constexpr unsigned kMostTries = 1000;  // of a section, in case it sees an inconsistent mesh

  struct alignas(128) Shared {
    long growth = 0;
  };

  template <class Thread>
  Element* take(Thread& thread) {
    Element* element = nullptr;
    thread.atomically([&](auto& transaction) { element = heap_.pop(transaction); });
    return element;
  }

  /// Returns whether an element is no longer in the mesh, and frees it then.
  template <class Thread>
  bool is_gone(Thread& thread, Element* element) {
    bool gone = false;
    thread.atomically([&, element](auto& transaction) {
      gone = transaction.read(element->is_garbage);
      if (gone) transaction.release(element);
    });
    return gone;
  }

  /// Frees an element if it is no longer in the mesh. Else the section that removes it will free it.
  template <class Thread>
  void give_up(Thread& thread, Element* element) {
    thread.atomically([&, element](auto& transaction) {
      transaction.write(element->is_referenced, false);
      if (transaction.read(element->is_garbage)) transaction.release(element);
    });
  }

  /// Inserts an element's centre, or halves segments until the element is gone. Returns by how many
  /// elements the mesh has grown.
  template <class Transaction>
  long refine(Transaction& transaction, Element* element, Cavity& cavity, BadTriangles& bad) {
    long growth = 0;
    const Point centre = element->centre;
    if (element->is_small() || !element->is_in_circle(centre)) return 0;
    for (unsigned tries = 0; tries < kMostTries && !transaction.read(element->is_garbage); ++tries) {
      Element* const segment = cavity.grow(transaction, element, centre, true);
      if (segment != nullptr) {
        if (segment->is_small()) break;
        cavity.grow(transaction, segment, segment->centre, false);
      }
      if (cavity.is_full()) break;
      growth += cavity.replace(transaction, mesh_, [&](Element* added) {
        if (!mesh_.is_bad(*added)) return;
        transaction.write(added->is_referenced, true);
        bad.add(added);
      });
    }
    return growth;
  }

  template <class Transaction>
  void put(Transaction& transaction, const BadTriangles& bad) {
    for (Element* const element : bad) {
      if (transaction.read(element->is_garbage))
        transaction.release(element);
      else
        heap_.push(transaction, element);
    }
  }

  Mesh mesh_;
  alignas(128) stamp::Heap<Element*, IsMoreUrgent> heap_;
  Shared shared_;
  long elements_ = 0;  // before threads start
};

template <class Sections>
int run(const Options& options) {
  const auto shared = std::make_unique<Sections>();
  Refinement refinement(options);
  sections::run_sections(*shared, options.team,
                         [&](auto& thread, unsigned, TeamBarrier&) { refinement.work(thread); });
  if (sections::is_wrong(refinement.has_work() ? "heap" : nullptr)) return 1;
  if (sections::is_wrong(Check(refinement.mesh(), refinement.number()).wrong())) return 1;
  std::printf("elements: %ld, from %ld\n", refinement.number(), refinement.first_number());
  refinement.clear();
  return 0;
}

}  // namespace workloads::yada
