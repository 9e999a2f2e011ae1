// SPDX-License-Identifier: Apache-2.0
// Two hosts in one process, the network between them, and the sockets of their connections. A socket puts a
// packet straight into the interface queue of the other host. That host's network thread gives it to the
// socket there.
#pragma once

#include <cstdint>
#include <deque>

#include "network/locking.h"
#include "network/mbuf.h"
#include "network/queues.h"
#include "network/socket.h"

namespace workloads::network {

struct Host {
  explicit Host(std::uint32_t connections) : listener(connections) {}

  InterfaceQueue arrived;
  Listener listener;
  Mutex lock;                  // for all sockets
  std::deque<Mutex> locks;     // or one for each socket
  std::deque<Socket> sockets;  // by connection
};

class Stack {
 public:
  /// Makes sockets for that many connections. `one_lock`: each host has one lock for its sockets. Packets
  /// have at most `segment_bytes` of data. `threads`: how many threads make packets at once.
  Stack(std::uint32_t connections, std::uint32_t segment_bytes, bool one_lock, unsigned threads)
      : zones_(threads), client_(connections), server_(connections) {
    for (std::uint32_t connection = 0; connection < connections; ++connection) {
      for (Host* host : {&client_, &server_}) {
        Mutex& lock = one_lock ? host->lock : host->locks.emplace_back();
        host->sockets.emplace_back(connection, segment_bytes, lock, host->listener, other(*host).arrived);
      }
    }
  }

  Host& client() { return client_; }
  Host& server() { return server_; }
  Zones& zones() { return zones_; }

  /// The work of a host's network thread. Returns after close().
  static void run_network(Host& host, Maker& maker) {
    while (Mbuf* const packet = host.arrived.pop())
      host.sockets[packet->header.connection].input(maker, packet);
  }
  void close() {
    client_.arrived.close();
    server_.arrived.close();
  }

 private:
  Host& other(const Host& host) { return &host == &client_ ? server_ : client_; }

  Zones zones_;
  Host client_, server_;
};

}  // namespace workloads::network
