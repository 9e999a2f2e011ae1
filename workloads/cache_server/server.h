// SPDX-License-Identifier: Apache-2.0
// A thread of the server: parses a request, works on the cache, writes the reply. It holds locks only in
// the cache's sections. The thread copies a value from the request into its item, or from the item into the
// reply, while it holds a reference. A get gives back the reference after the thread has sent the reply.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "cache.h"
#include "congruence.h"
#include "protocol.h"

namespace workloads::cache_server {

/// A computation in the place of the kernel's work on a connection: half of the steps for a request, half
/// for a reply.
class Network {
 public:
  explicit Network(std::uint64_t steps) : half_(steps / 2) {}

  void pass() {
    state_ = advance(state_, half_);
    ++passed_;
  }
  bool is_right() const { return state_ == jump(0, passed_ * half_); }

 private:
  const std::uint64_t half_;
  std::uint64_t state_ = 0, passed_ = 0;
};

/// The statistics of a thread. They have a lock of their own, because in memcached other threads can read
/// them.
struct alignas(128) ThreadStatistics {
  Mutex lock;
  std::uint64_t gets = 0, hits = 0, misses = 0, sets = 0;
};

template <class Locks>
class ServerThread {
 public:
  ServerThread(Cache<Locks>& cache, ThreadStatistics& statistics, std::uint64_t network_steps)
      : cache_(cache), statistics_(statistics), network_(network_steps) {}

  void serve(std::string_view text, Buffer& reply) {
    network_.pass();
    const Request request(text);
    const Words words(request.line);
    reply.clear();
    if (words.count() == 2 && words[0] == "get") return get(words[1], reply);
    if (words.count() == 5 && words[0] == "set") return set(words[1], words.number(4), request.rest, reply);
    send(reply, "ERROR\r\n");
  }

  bool is_network_right() const { return network_.is_right(); }

 private:
  void get(std::string_view key, Buffer& reply) {
    Item* const item = cache_.get(key);
    {
      const Guard guard(statistics_.lock);
      ++statistics_.gets;
      ++(item == nullptr ? statistics_.misses : statistics_.hits);
    }
    if (item == nullptr) return send(reply, kMiss);
    cache_.update(item);
    reply.append("VALUE ");
    reply.append(item->key_text());
    reply.append(std::string_view(item->suffix(), item->suffix_bytes + item->value_bytes));
    send(reply, kMiss);
    cache_.release(item);
  }

  /// `rest`: begins with the value and its line end.
  void set(std::string_view key, std::uint32_t bytes, std::string_view rest, Buffer& reply) {
    const auto value_bytes = static_cast<std::uint32_t>(bytes + kLineEnd.size());
    Item* const item = cache_.allocate(key, value_bytes);
    if (item == nullptr) return send(reply, kNoMemory);
    std::memcpy(item->value(), rest.data(), value_bytes);
    {
      const Guard guard(statistics_.lock);
      ++statistics_.sets;
    }
    cache_.store(item);
    cache_.release(item);
    send(reply, kStored);
  }

  void send(Buffer& reply, std::string_view end) {
    reply.append(end);
    network_.pass();
  }

  Cache<Locks>& cache_;
  ThreadStatistics& statistics_;
  Network network_;
};

}  // namespace workloads::cache_server
