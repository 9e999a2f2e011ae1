// SPDX-License-Identifier: Apache-2.0
// The first mesh of STAMP's yada (yada.h): the Delaunay triangulation of a square with random points, built
// by one thread, a point at a time.
//
// Points lie on a lattice, so that no two are very close. Its sides have at least 64 times as many places
// as those of a lattice with a point at each place. So some points lie on a line or a circle with others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sections/plain.h"
#include "stamp/yada_cavity.h"
#include "stamp/yada_geometry.h"
#include "stamp/yada_mesh.h"
#include "support.h"

namespace workloads::yada {

/// Random points in the square and on its sides, without its corners.
class Points {
 public:
  /// `number`: the number of points, corners included.
  Points(std::size_t number, CheapRandom& random) {
    std::size_t root = 1;  // rounded up
    while (root * root < number) ++root;
    while (places_ < root * kSpread) places_ *= 2;
    const std::size_t on_a_side = root / 4;
    for (unsigned side = 0; side < 4; ++side) {
      const auto at = [&] {
        return place(side % 2 == 0 ? draw(random) : side / 2 * places_,
                     side % 2 != 0 ? draw(random) : side / 2 * places_);
      };
      fill(sides, on_a_side * (side + 1), at);
    }
    const std::size_t rest = number > sides.size() + 4 ? number - sides.size() - 4 : 0;
    fill(inner, rest, [&] { return place(draw(random), draw(random)); });
    sort_by_rows(root);
  }

  std::vector<Point> sides, inner;

 private:
  static constexpr std::size_t kSpread = 64;

  std::uint32_t draw(CheapRandom& random) const {
    return 1 + random.below(static_cast<std::uint32_t>(places_) - 1);
  }
  Point place(std::size_t x, std::size_t y) const {
    const Coordinate step = kSide / static_cast<Coordinate>(places_);
    return {static_cast<Coordinate>(x) * step, static_cast<Coordinate>(y) * step};
  }

  /// Adds distinct points until there are `number`.
  template <class Draw>
  void fill(std::vector<Point>& points, std::size_t number, Draw draw) {
    while (points.size() < number) {
      const Point point = draw();
      if (taken_.insert({point.x, point.y}).second) points.push_back(point);
    }
  }

  /// Sorts points row by row, in alternating directions, so that each point is near the one before.
  void sort_by_rows(std::size_t rows) {
    const Coordinate height = kSide / static_cast<Coordinate>(rows) + 1;
    std::sort(inner.begin(), inner.end(), [height](Point one, Point other) {
      const Coordinate row = one.y / height, other_row = other.y / height;
      if (row != other_row) return row < other_row;
      if (one.x != other.x) return (one.x < other.x) == (row % 2 == 0);
      return one.y < other.y;
    });
  }

  std::size_t places_ = kSpread;  // on a side of the lattice
  std::set<std::pair<Coordinate, Coordinate>> taken_;
};

/// Builds the mesh.
class Builder {
 public:
  explicit Builder(Mesh& mesh) : mesh_(mesh) {}

  void build(std::size_t number, CheapRandom& random) {
    const Points points(number, random);
    insert_square();
    for (const Point point : points.sides) insert(point);
    for (const Point point : points.inner) insert(point);
  }

  /// Returns the number of elements.
  long number() const { return number_; }

 private:
  void insert_square() {
    const Point corners[] = {{0, 0}, {kSide, 0}, {kSide, kSide}, {0, kSide}};
    Side sides[12];
    std::size_t number = 0;
    for (unsigned i = 0; i < 4; ++i) {
      auto* const segment = plain_.make<Element>(corners[i], corners[(i + 1) % 4]);
      mesh_.insert(plain_, segment, sides, number);
      mesh_.insert_boundary(plain_, segment);
    }
    for (const unsigned i : {1u, 3u}) {
      last_ = plain_.make<Element>(corners[0], corners[i], corners[2]);
      mesh_.insert(plain_, last_, sides, number);
    }
    number_ = 6;
  }

  void insert(Point point) {
    Element* first = triangle_at(point);
    for (auto* node = first->neighbours.first(plain_); node != nullptr; node = node->next) {
      const Element& neighbour = *node->data;
      if (neighbour.is_segment() && twice_area(neighbour.corners[0], neighbour.corners[1], point) == 0)
        first = node->data;
    }
    cavity_.grow(plain_, first, point, false);
    number_ += cavity_.replace(plain_, mesh_, [this](Element* added) { last_ = added; });
  }

  /// Returns the triangle that contains a point, inside or on an edge.
  Element* triangle_at(Point point) {
    Element* triangle = last_;
    while (Element* const next = towards(*triangle, point)) triangle = next;
    return triangle;
  }

  /// Returns a neighbour across an edge that has the point on its other side, or null if no edge has.
  Element* towards(const Element& triangle, Point point) {
    for (unsigned i = 0; i < 3; ++i) {
      const Point a = triangle.corners[(i + 1) % 3], b = triangle.corners[(i + 2) % 3];
      if (twice_area(a, b, point) >= 0) continue;
      for (auto* node = triangle.neighbours.first(plain_); node != nullptr; node = node->next) {
        if (triangle.common_edge(*node->data) == &triangle.edges[i]) return node->data;
      }
    }
    return nullptr;
  }

  Mesh& mesh_;
  sections::Plain plain_;
  Cavity cavity_;
  Element* last_ = nullptr;  // a triangle near the last point
  long number_ = 0;
};

}  // namespace workloads::yada
