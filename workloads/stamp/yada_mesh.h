// SPDX-License-Identifier: Apache-2.0
// The mesh of STAMP's yada (yada.h): triangles, and the segments of its boundary, each with a sorted list
// of its neighbours. Two elements are neighbours if they share an edge. A tree has the edges of all
// segments.
//
// Operations take the transaction of the section. An element's geometry never changes, so operations read
// it without the transaction. Threads share its neighbours and its flags. insert() and remove() read and
// write the lists (list.h) of an element and of its neighbours; insert() of a triangle with an obtuse angle
// also searches the tree. Before threads start and after they end, the transaction is a sections::Plain.
// There is no destructor: call clear(). If memory is exhausted, the mesh is wrong.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sections/plain.h"
#include "stamp/list.h"
#include "stamp/red_black_tree.h"
#include "stamp/yada_geometry.h"

namespace workloads::yada {

/// The ends of an element's edge, in order.
struct Edge {
  const Point *first, *second;
};

inline bool operator==(const Edge& one, const Edge& other) {
  return *one.first == *other.first && *one.second == *other.second;
}
inline bool operator<(const Edge& one, const Edge& other) {
  return *one.first == *other.first ? *one.second < *other.second : *one.first < *other.first;
}

struct Element;

/// Compares elements by their corners.
struct CompareElements {
  int operator()(const Element* one, const Element* other) const;
};

using Neighbours = stamp::List<Element, CompareElements>;

/// A triangle, or a segment of the boundary. 256 bytes, as the original's.
struct Element {
  Element(const Point& a, const Point& b) : corners{a, b, b}, number(2), centre(midpoint(a, b)) {
    if (b < a) corners[0] = b, corners[1] = corners[2] = a;
    edges[0] = {&corners[0], &corners[1]};
    shortest_squared = static_cast<double>(dot(b - a, b - a));
  }
  Element(const Point& a, const Point& b, const Point& c) : corners{a, b, c}, number(3) {
    if (twice_area(a, b, c) < 0) corners[1] = c, corners[2] = b;
    while (corners[1] < corners[0] || corners[2] < corners[0]) turn();
    centre = circumcentre(corners[0], corners[1], corners[2]);
    for (unsigned i = 0; i < 3; ++i) look_at(i);
  }
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;

  bool is_segment() const { return number == 2; }
  /// Returns whether an element is too small to refine on the grid. This limits the number of elements.
  bool is_small() const { return shortest_squared < kLeastLength * kLeastLength; }
  unsigned number_of_edges() const { return is_segment() ? 1 : 3; }
  bool is_in_circle(const Point& point) const {
    return yada::is_in_circle(corners[0], corners[1], corners[2], point);
  }
  /// Returns whether a new point requires splitting this segment.
  bool is_split_by(const Point& point) const {
    return encroaches(point, corners[0], corners[1]) || twice_area(corners[0], corners[1], point) == 0;
  }
  /// Returns the edge that this element shares with `other`, or null if they share no edge.
  const Edge* common_edge(const Element& other) const {
    for (unsigned i = 0; i < number_of_edges(); ++i) {
      for (unsigned j = 0; j < other.number_of_edges(); ++j) {
        if (edges[i] == other.edges[j]) return &edges[i];
      }
    }
    return nullptr;
  }

  Point corners[3];               // counter-clockwise, the least first; of a segment only two
  std::uint64_t number;           // of corners
  Point centre;                   // where a point is inserted to get rid of it
  double shortest_squared = 0;    // length of an edge
  double squared_cosine = 0;      // of the least angle
  Edge edges[3] = {};             // a triangle's edge i is opposite to corner i
  std::uint64_t unused[11] = {};  // the original has midpoints and lengths of edges
  const Edge* obtuse = nullptr;   // edge opposite to an obtuse angle; in a mesh, only one of the boundary
  Neighbours neighbours;
  bool is_garbage = false;     // it is no longer in the mesh
  bool is_referenced = false;  // a thread or the heap has it, and frees it if it is garbage

 private:
  static constexpr double kLeastLength = 64;

  void turn() {
    const Point first = corners[0];
    corners[0] = corners[1];
    corners[1] = corners[2];
    corners[2] = first;
  }

  void look_at(unsigned i) {
    const Point *const b = &corners[(i + 1) % 3], *const c = &corners[(i + 2) % 3];
    edges[i] = *b < *c ? Edge{b, c} : Edge{c, b};
    if (encroaches(corners[i], *b, *c)) obtuse = &edges[i];
    const double cosine = yada::squared_cosine(corners[i], *b, *c);
    if (cosine > squared_cosine) squared_cosine = cosine;
    const auto length = static_cast<double>(dot(*b - *c, *b - *c));
    if (i == 0 || length < shortest_squared) shortest_squared = length;
  }
};
static_assert(sizeof(Element) == 256);

inline int CompareElements::operator()(const Element* one, const Element* other) const {
  if (one->number != other->number) return one->number < other->number ? -1 : 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (one->corners[i] < other->corners[i]) return -1;
    if (other->corners[i] < one->corners[i]) return 1;
  }
  return 0;
}

/// An edge and the element on one side of it, until the element on the other side is known. It lies in a
/// thread's memory.
struct Side {
  const Edge* edge;
  Element* element;
};

class Mesh {
 public:
  /// `squared_cosine`: the squared cosine of the least angle that triangles may have.
  explicit Mesh(double squared_cosine) : most_squared_cosine_(squared_cosine) {}

  bool is_skinny(const Element& element) const { return element.squared_cosine > most_squared_cosine_; }
  bool is_bad(const Element& element) const { return element.obtuse != nullptr || is_skinny(element); }

  /// Adds a new element, and links it with those of `sides` that share an edge. Its other edges are added
  /// to `sides`, which has room. Segments must be in the boundary before triangles are inserted.
  template <class Transaction>
  void insert(Transaction& transaction, Element* element, Side* sides, std::size_t& number) {
    if (element->obtuse != nullptr && !boundary_.contains(transaction, {element->obtuse}))
      element->obtuse = nullptr;
    if (transaction.read(root_) == nullptr) transaction.write(root_, element);
    for (unsigned i = 0; i < element->number_of_edges(); ++i) {
      const Edge* const edge = &element->edges[i];
      std::size_t at = 0;
      while (at < number && !(*sides[at].edge == *edge)) ++at;
      if (at == number) {
        sides[number++] = {edge, element};
      } else {
        element->neighbours.insert(transaction, sides[at].element);
        sides[at].element->neighbours.insert(transaction, element);
      }
    }
  }

  /// Removes an element, and frees it unless it is referenced.
  template <class Transaction>
  void remove(Transaction& transaction, Element* element) {
    transaction.write(element->is_garbage, true);
    if (transaction.read(root_) == element) transaction.write(root_, nullptr);
    for (auto* node = element->neighbours.first(transaction); node != nullptr;
         node = Neighbours::next(transaction, node))
      node->data->neighbours.remove(transaction, element);
    element->neighbours.clear(transaction);
    if (!transaction.read(element->is_referenced)) transaction.release(element);
  }

  template <class Transaction>
  void insert_boundary(Transaction& transaction, const Element* segment) {
    boundary_.insert(transaction, {&segment->edges[0]}, segment);
  }
  template <class Transaction>
  void remove_boundary(Transaction& transaction, const Element* segment) {
    boundary_.erase(transaction, {&segment->edges[0]});
  }

  // For one thread.
  Element* root() const { return root_; }
  bool has_boundary(const Element& segment) const {
    sections::Plain plain;
    return boundary_.find(plain, {&segment.edges[0]}) == &segment;
  }
  /// The number of segments in the tree, or 0 if that is no red-black tree.
  std::size_t boundary_size() const { return boundary_.check() ? boundary_.size() : 0; }
  void clear_boundary() {
    sections::Plain plain;
    boundary_.clear(plain);
  }

 private:
  /// A key of the tree. It compares edges.
  struct Key {
    const Edge* edge;
    bool operator==(Key other) const { return *edge == *other.edge; }
    bool operator<(Key other) const { return *edge < *other.edge; }
  };

  const double most_squared_cosine_;
  alignas(128) Element* root_ = nullptr;  // some element
  alignas(128) stamp::RedBlackTree<Key, const Element*> boundary_;
};

}  // namespace workloads::yada
