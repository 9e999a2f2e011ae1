// SPDX-License-Identifier: Apache-2.0
// Many small packets through the sockets of one network stack, like the TCP/IP stack of the TSX paper
// (section 6), where condition variables decide the gain of elision.
//
// Half of the threads send, the others receive, one at each end of a connection. A connection is a ring of
// packets with a condition variable at each end. Sender and receiver copy packets under the lock of the
// stack, or under the connection's lock (--locks each). Every packet has its number and bytes derived from
// it, which the receiver checks. A wrong order or byte ends the program with exit code 1.
#include <pthread.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"
#include "support.h"

namespace {

constexpr std::uint32_t kMostBytes = 1024;

struct Options {
  unsigned threads = 8;
  std::uint64_t packets = 20000;
  std::uint32_t bytes = 64;
  std::uint32_t ring = 32;
  std::string locks = "one";
};

struct alignas(128) Packet {
  std::uint64_t number;
  unsigned char bytes[kMostBytes];
};

struct alignas(128) Lock {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

struct Connection {
  explicit Connection(std::uint32_t ring) : packets(ring) {}

  Lock own_lock;
  alignas(128) pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
  alignas(128) pthread_cond_t has_room = PTHREAD_COND_INITIALIZER;
  alignas(128) std::uint64_t sent = 0;
  alignas(128) std::uint64_t received = 0;
  std::vector<Packet> packets;
};

class Stack {
 public:
  explicit Stack(const Options& options) : options_(options) {
    for (unsigned i = 0; i < options.threads / 2; ++i)
      connections_.push_back(std::make_unique<Connection>(options.ring));
  }

  /// Packets per second; -1 if a packet was wrong.
  double run() {
    std::vector<std::thread> threads;
    std::vector<char> right(connections_.size(), 0);
    pthread_barrier_init(&barrier_, nullptr, options_.threads + 1);
    for (unsigned i = 0; i < connections_.size(); ++i) {
      threads.emplace_back([this, i] {
        begin(2 * i);
        send(*connections_[i]);
      });
      threads.emplace_back([this, i, &right] {
        begin(2 * i + 1);
        right[i] = receive(*connections_[i]);
      });
    }
    pthread_barrier_wait(&barrier_);
    const std::uint64_t start = workloads::now_ns();
    for (std::thread& thread : threads) thread.join();
    const double seconds = static_cast<double>(workloads::now_ns() - start) / 1e9;
    for (const char one : right) {
      if (one == 0) return -1;
    }
    return static_cast<double>(options_.packets * connections_.size()) / seconds;
  }

 private:
  void begin(unsigned index) {
    workloads::pin_to(index);
    pthread_barrier_wait(&barrier_);
  }

  pthread_mutex_t* lock_of(Connection& connection) {
    return options_.locks == "one" ? &lock_.mutex : &connection.own_lock.mutex;
  }

  void send(Connection& connection) {
    pthread_mutex_t* const lock = lock_of(connection);
    unsigned char bytes[kMostBytes];
    for (std::uint64_t number = 0; number < options_.packets; ++number) {
      std::memset(bytes, static_cast<int>(number % 251), options_.bytes);
      pthread_mutex_lock(lock);
      while (connection.sent - connection.received == options_.ring)
        pthread_cond_wait(&connection.has_room, lock);
      Packet& packet = connection.packets[connection.sent % options_.ring];
      packet.number = number;
      std::memcpy(packet.bytes, bytes, options_.bytes);
      ++connection.sent;
      pthread_cond_signal(&connection.arrived);
      pthread_mutex_unlock(lock);
    }
  }

  bool receive(Connection& connection) {
    pthread_mutex_t* const lock = lock_of(connection);
    unsigned char bytes[kMostBytes];
    bool right = true;
    for (std::uint64_t number = 0; number < options_.packets; ++number) {
      pthread_mutex_lock(lock);
      while (connection.sent == connection.received) pthread_cond_wait(&connection.arrived, lock);
      const Packet& packet = connection.packets[connection.received % options_.ring];
      const std::uint64_t found = packet.number;
      std::memcpy(bytes, packet.bytes, options_.bytes);
      ++connection.received;
      pthread_cond_signal(&connection.has_room);
      pthread_mutex_unlock(lock);
      right = right && found == number;
      for (std::uint32_t i = 0; i < options_.bytes; ++i) right = right && bytes[i] == number % 251;
    }
    return right;
  }

  const Options options_;
  Lock lock_;
  pthread_barrier_t barrier_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("packets", "Many small packets through the sockets of one network stack");
  line.add("--threads", options.threads, "half send, half receive").within(2, 512);
  line.add("--packets", options.packets, "of each connection").within(1, 1000000000);
  line.add("--bytes", options.bytes, "of a packet").within(1, kMostBytes);
  line.add("--ring", options.ring, "packets on their way in a connection").within(1, 65536);
  line.add("--locks", options.locks, "one lock for all, or for each connection").one_of({"one", "each"});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (options.threads % 2 != 0)
    return line.refuse("--threads: " + std::to_string(options.threads) + " is odd");
  const double throughput = Stack(options).run();
  if (throughput < 0) {
    std::puts("WRONG packets");
    return 1;
  }
  std::printf("packets: %" PRIu64 "\nthroughput: %.1f packets/s\n", options.packets * (options.threads / 2),
              throughput);
  return 0;
}
