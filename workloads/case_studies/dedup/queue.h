// SPDX-License-Identifier: Apache-2.0
// A bounded queue between two stages of a pipeline: a ring under a mutex, with condition variables for its
// two ends. A section puts or takes one element.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace workloads::dedup {

template <class Element>
class Queue {
 public:
  /// `producers`: how many threads will call close().
  Queue(std::size_t size, unsigned producers) : ring_(size), producers_(producers) {}

  void put(Element* element) {
    std::unique_lock lock(mutex_);
    while (put_ - taken_ == ring_.size()) has_room_.wait(lock);
    ring_[put_++ % ring_.size()] = element;
    lock.unlock();
    has_element_.notify_one();
  }

  /// Returns null if the queue is empty and all producers have closed it.
  Element* take() {
    std::unique_lock lock(mutex_);
    while (put_ == taken_ && producers_ != 0) has_element_.wait(lock);
    if (put_ == taken_) return nullptr;
    Element* const element = ring_[taken_++ % ring_.size()];
    lock.unlock();
    has_room_.notify_one();
    return element;
  }

  /// A producer calls it after its last element.
  void close() {
    std::unique_lock lock(mutex_);
    --producers_;
    lock.unlock();
    has_element_.notify_all();
  }

 private:
  alignas(128) std::mutex mutex_;
  std::condition_variable has_element_, has_room_;
  std::vector<Element*> ring_;
  std::size_t put_ = 0, taken_ = 0;
  unsigned producers_;
};

}  // namespace workloads::dedup
