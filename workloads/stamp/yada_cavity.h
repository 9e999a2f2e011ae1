// SPDX-License-Identifier: Apache-2.0
// Inserts a point into the mesh of STAMP's yada (yada.h), by the algorithm of Bowyer and Watson: the
// elements whose circles have the point in them are the point's cavity. They are replaced by triangles
// between the point and each edge of the cavity's border. If the mesh was Delaunay, it is afterwards.
//
// A cavity reads the lists of its elements, and a flag of each of their neighbours. A replacement writes
// all elements of the cavity and the lists of those around it, and allocates as many as it adds.
#pragma once

#include <cstddef>
#include <memory>

#include "stamp/yada_geometry.h"
#include "stamp/yada_mesh.h"

namespace workloads::yada {

/// A cavity of one thread. It never touches pages of its memory that it does not need.
class Cavity {
 public:
  Cavity() : elements_(new Element*[kMostElements]), sides_(new Side[4 * kMostElements + 4]) {}

  /// Finds the cavity of `point`, beginning with the element `first` in it. With `splits`, if the point
  /// encroaches a segment, returns that segment and leaves the cavity incomplete. Else returns null.
  template <class Transaction>
  Element* grow(Transaction& transaction, Element* first, const Point& point, bool splits) {
    point_ = point;
    elements_[0] = first;
    number_ = 1;
    sides_number_ = 0;
    for (std::size_t next = 0; next < number_; ++next) {
      Element* const element = elements_[next];
      for (auto* node = element->neighbours.first(transaction); node != nullptr;
           node = Neighbours::next(transaction, node)) {
        Element* const neighbour = node->data;
        if (transaction.read(neighbour->is_garbage) || contains(neighbour)) continue;
        if (splits && neighbour->is_segment() && neighbour->is_split_by(point)) return neighbour;
        if (!neighbour->is_segment() && neighbour->is_in_circle(point))
          add(neighbour);
        else
          add_side(neighbour->common_edge(*element), neighbour);
      }
    }
    return nullptr;
  }

  /// Returns whether the cavity was too large for this thread's memory.
  bool is_full() const { return number_ == kMostElements || sides_number_ >= kMostElements; }

  /// Replaces the elements. If the first element is a segment, it becomes two. Calls `added(element)` for
  /// each new triangle. Returns by how many elements the mesh has grown.
  template <class Transaction, class Added>
  long replace(Transaction& transaction, Mesh& mesh, Added added) {
    const std::size_t border = sides_number_;
    long growth = -static_cast<long>(number_);
    const bool splits = elements_[0]->is_segment();
    const Point from = elements_[0]->corners[0], to = elements_[0]->corners[1];
    if (splits) mesh.remove_boundary(transaction, elements_[0]);
    for (std::size_t i = 0; i < number_; ++i) mesh.remove(transaction, elements_[i]);
    if (splits) growth += insert_segment(transaction, mesh, from) + insert_segment(transaction, mesh, to);
    for (std::size_t i = 0; i < border; ++i) {
      const Edge edge = *sides_[i].edge;
      Element* const element = transaction.template make<Element>(point_, *edge.first, *edge.second);
      if (element == nullptr) continue;
      mesh.insert(transaction, element, sides_.get(), sides_number_);
      added(element);
      ++growth;
    }
    return growth;
  }

 private:
  static constexpr std::size_t kMostElements = std::size_t{1} << 14;

  bool contains(const Element* element) const {
    for (std::size_t i = 0; i < number_; ++i) {
      if (elements_[i] == element) return true;
    }
    return false;
  }
  void add(Element* element) {
    if (number_ < kMostElements) elements_[number_++] = element;
  }
  void add_side(const Edge* edge, Element* element) {
    if (edge != nullptr && sides_number_ < kMostElements) sides_[sides_number_++] = {edge, element};
  }

  template <class Transaction>
  long insert_segment(Transaction& transaction, Mesh& mesh, const Point& end) {
    Element* const segment = transaction.template make<Element>(point_, end);
    if (segment == nullptr) return 0;
    mesh.insert(transaction, segment, sides_.get(), sides_number_);
    mesh.insert_boundary(transaction, segment);
    return 1;
  }

  Point point_{};
  const std::unique_ptr<Element*[]> elements_;
  const std::unique_ptr<Side[]> sides_;  // edges of the border, and new ones: up to three for each
  std::size_t number_ = 0, sides_number_ = 0;
};

}  // namespace workloads::yada
