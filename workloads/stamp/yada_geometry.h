// SPDX-License-Identifier: Apache-2.0
// The geometry of STAMP's yada (yada.h): points of a square grid, and exact answers about them.
//
// Coordinates are whole numbers from 0 to kSide. So areas fit 64 bits and the test of a circle fits 128
// bits, and both are exact. A new point is rounded to the grid; points of the input are so far apart that
// this hardly matters. Angles are compared in floating point: a triangle's answer is always the same.
#pragma once

#include <cstdint>

namespace workloads::yada {

using Coordinate = std::int64_t;
__extension__ using Wide = __int128;

inline constexpr Coordinate kSide = Coordinate{1} << 28;

struct Point {
  Coordinate x, y;
};

inline bool operator==(const Point& one, const Point& other) { return one.x == other.x && one.y == other.y; }
inline bool operator<(const Point& one, const Point& other) {
  return one.x != other.x ? one.x < other.x : one.y < other.y;
}
inline Point operator-(const Point& one, const Point& other) { return {one.x - other.x, one.y - other.y}; }

inline std::int64_t dot(const Point& one, const Point& other) { return one.x * other.x + one.y * other.y; }
inline std::int64_t cross(const Point& one, const Point& other) { return one.x * other.y - one.y * other.x; }

/// Returns twice the area of a triangle: positive if the corners go counter-clockwise, 0 if they lie on a
/// line.
inline std::int64_t twice_area(const Point& a, const Point& b, const Point& c) { return cross(b - a, c - a); }

/// Returns whether a point lies inside the circle through three corners, which go counter-clockwise.
inline bool is_in_circle(const Point& a, const Point& b, const Point& c, const Point& point) {
  const Point to_a = a - point, to_b = b - point, to_c = c - point;
  const Wide sum = Wide{dot(to_a, to_a)} * cross(to_b, to_c) + Wide{dot(to_b, to_b)} * cross(to_c, to_a) +
                   Wide{dot(to_c, to_c)} * cross(to_a, to_b);
  return sum > 0;
}

/// Returns whether a point encroaches a segment: it lies inside the circle whose diameter is the segment.
inline bool encroaches(const Point& point, const Point& a, const Point& b) {
  return dot(a - point, b - point) < 0;
}

inline Point midpoint(const Point& a, const Point& b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }

/// Returns the grid coordinate in the square that is nearest to `base` + `offset`.
inline Coordinate rounded(Coordinate base, double offset) {
  const double sum = static_cast<double>(base) + offset;
  if (!(sum > 0)) return 0;
  return sum < static_cast<double>(kSide) ? static_cast<Coordinate>(sum + 0.5) : kSide;
}

/// Returns the centre of the circle through three corners, rounded, or the nearest point of the square if
/// the centre lies outside. That point is also in the circle, and on a side of the square that some corner
/// encroaches.
inline Point circumcentre(const Point& a, const Point& b, const Point& c) {
  const Point to_b = b - a, to_c = c - a;
  const Wide b_squared = dot(to_b, to_b), c_squared = dot(to_c, to_c);
  const double twice = 2 * static_cast<double>(cross(to_b, to_c));
  const auto x = static_cast<double>(b_squared * to_c.y - c_squared * to_b.y);
  const auto y = static_cast<double>(c_squared * to_b.x - b_squared * to_c.x);
  return {rounded(a.x, x / twice), rounded(a.y, y / twice)};
}

/// Returns the square of the cosine of the angle at `a`, or 0 if the angle is not acute.
inline double squared_cosine(const Point& a, const Point& b, const Point& c) {
  const std::int64_t product = dot(b - a, c - a);
  if (product <= 0) return 0;
  const auto cosine = static_cast<double>(product);
  return cosine / static_cast<double>(dot(b - a, b - a)) * (cosine / static_cast<double>(dot(c - a, c - a)));
}

}  // namespace workloads::yada
