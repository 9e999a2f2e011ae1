// SPDX-License-Identifier: Apache-2.0
// The queues between threads of the packet stack: packets at a host's interface, for the host's network
// thread, and connections that a host has not accepted yet. Each queue has a lock and a condition variable
// of its own. Threads push while they hold a socket's lock, so that a connection's packets stay in order.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "network/locking.h"
#include "network/mbuf.h"

namespace workloads::network {

class InterfaceQueue {
 public:
  void push(Mbuf* packet) {
    {
      const std::lock_guard lock(lock_);
      packets_.push(packet);
    }
    arrived_.signal();
  }

  /// Waits for a packet. Returns null if the queue is closed and empty.
  Mbuf* pop() {
    const std::lock_guard lock(lock_);
    arrived_.wait_until(lock_, [&] { return packets_.first != nullptr || is_closed_; });
    return packets_.first == nullptr ? nullptr : packets_.pop();
  }

  void close() {
    {
      const std::lock_guard lock(lock_);
      is_closed_ = true;
    }
    arrived_.signal();
  }

 private:
  Mutex lock_;
  Condition arrived_;
  alignas(128) PacketQueue packets_;
  bool is_closed_ = false;
};

class Listener {
 public:
  /// `most`: the number of connections in all.
  explicit Listener(std::uint32_t most) : connections_(most) {}

  void push(std::uint32_t connection) {
    {
      const std::lock_guard lock(lock_);
      connections_[pushed_++] = connection;
    }
    arrived_.signal();
  }

  /// Waits for a connection and returns it.
  std::uint32_t accept() {
    const std::lock_guard lock(lock_);
    arrived_.wait_until(lock_, [&] { return pushed_ != accepted_; });
    return connections_[accepted_++];
  }

 private:
  Mutex lock_;
  Condition arrived_;
  alignas(128) std::uint32_t pushed_ = 0, accepted_ = 0;
  std::vector<std::uint32_t> connections_;
};

}  // namespace workloads::network
