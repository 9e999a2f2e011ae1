// SPDX-License-Identifier: Apache-2.0
// The program of a network workload (README.md): the main function, its threads and its check. A workload
// is a class with
//
//   static constexpr const char* kName, *kDescription
//   static constexpr std::uint32_t kMessages, kMessageBytes    defaults
//   static constexpr std::uint32_t kUnitBytes    a message has a multiple of that
//   static constexpr std::size_t kReadBytes      most that the server reads at once
//   static constexpr bool kConnectionEach        each message has a connection of its own; else each client
//   Workload(const Options&)
//   Bytes stream(std::uint32_t connection) const      what a client sends there, drawn before the run
//   void serve(End&, const Bytes& stream)             the server's computation; it may send
//   bool is_answered(End&, const Bytes& stream)       the client receives answers: are they right?
//   bool report() const                               prints results; false if they are wrong
//
// Threads: one for the network of each host, then servers and clients in turn. A client connects and sends,
// message by message. A server accepts a connection and reads it to its end. This is the input stage, which
// alone is timed. When all input is there, the servers compute, as in the paper's runs, and the clients
// receive the answers. At the end each stream must have arrived as it was sent.
#pragma once

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "network/mbuf.h"
#include "network/socket.h"
#include "network/stack.h"
#include "support.h"
#include "team.h"
#include "team_options.h"

namespace workloads::network {

using Bytes = std::vector<unsigned char>;

struct Options : TeamOptions {
  std::uint32_t messages = 1;  // of a client
  std::uint32_t message_bytes = 1;
  std::uint32_t mtu = 1500;
  std::string locks = "socket";
};

/// A thread's end of a connection.
struct End {
  Socket& socket;
  Maker& maker;

  void send(const void* data, std::size_t bytes) {
    socket.send(maker, static_cast<const unsigned char*>(data), bytes);
  }
  void receive(void* data, std::size_t bytes, std::size_t piece) {
    socket.receive(maker, static_cast<unsigned char*>(data), bytes, piece);
  }
};

inline constexpr unsigned kNetworkThreads = 2, kHeaderBytes = 40;  // of IP and TCP

template <class Workload>
class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        clients_((options.threads - kNetworkThreads) / 2),
        connections_of_client_(Workload::kConnectionEach ? options.messages : 1),
        connections_(clients_ * connections_of_client_),
        workload_(options),
        stack_(connections_, options.mtu - kHeaderBytes, options.locks == "host", options.threads),
        received_(connections_),
        input_ends_ns_(clients_),
        to_accept_(connections_),
        servers_(clients_),
        at_work_(2 * clients_) {
    for (std::uint32_t connection = 0; connection < connections_; ++connection) {
      sent_.push_back(workload_.stream(connection));
      received_[connection].resize(sent_.back().size());
    }
  }

  /// Returns the exit code.
  int run() {
    run_team(
        options_.threads, !options_.no_pin, [&](unsigned) { return Maker(stack_.zones()); },
        [&](unsigned thread, Maker& maker, TeamBarrier&) { work(thread, maker); });
    report();
    const int code = exit_code(complaint());
    return code == 0 && !workload_.report() ? 1 : code;
  }

 private:
  void work(unsigned thread, Maker& maker) {
    if (thread == 0) begin_ns_ = now_ns();
    if (thread == 0) return Stack::run_network(stack_.server(), maker);
    if (thread == 1) return Stack::run_network(stack_.client(), maker);
    const unsigned index = (thread - kNetworkThreads) / 2;
    if (thread % 2 == 0) {
      run_server(index, maker);
    } else {
      run_client(index, maker);
    }
    if (--at_work_ == 0) stack_.close();
  }

  void run_server(unsigned index, Maker& maker) {
    std::vector<std::uint32_t> accepted;
    accepted.reserve(connections_);
    while (to_accept_.fetch_sub(1) > 0) {
      const std::uint32_t connection = stack_.server().listener.accept();
      accepted.push_back(connection);
      Bytes& stream = received_[connection];
      End{stack_.server().sockets[connection], maker}.receive(stream.data(), stream.size(),
                                                              Workload::kReadBytes);
    }
    input_ends_ns_[index] = now_ns();
    servers_.wait();
    for (const std::uint32_t connection : accepted) {
      End end{stack_.server().sockets[connection], maker};
      workload_.serve(end, received_[connection]);
    }
  }

  void run_client(unsigned index, Maker& maker) {
    const std::uint32_t first = index * connections_of_client_;
    for (std::uint32_t i = first; i < first + connections_of_client_; ++i) {
      End end{stack_.client().sockets[i], maker};
      end.socket.connect(maker);
      for (std::size_t at = 0; at < sent_[i].size(); at += options_.message_bytes)
        end.send(&sent_[i][at], options_.message_bytes);
    }
    for (std::uint32_t i = first; i < first + connections_of_client_; ++i) {
      End end{stack_.client().sockets[i], maker};
      if (!workload_.is_answered(end, sent_[i])) are_answers_wrong_ = true;
    }
  }

  void report() {
    std::uint64_t packets = 0, bytes = 0;
    for (Host* host : {&stack_.client(), &stack_.server()})
      for (const Socket& socket : host->sockets) packets += socket.packets();
    for (const Bytes& stream : received_) bytes += stream.size();
    std::printf("packets: %" PRIu64 "\n", packets);
    print_throughput("bytes", bytes, *std::ranges::max_element(input_ends_ns_) - begin_ns_);
  }

  /// Empty if all is right.
  std::string complaint() {
    for (std::uint32_t connection = 0; connection < connections_; ++connection) {
      const Socket& client = stack_.client().sockets[connection];
      const Socket& server = stack_.server().sockets[connection];
      const std::string name = "connection " + std::to_string(connection);
      if (!server.has_all_of(client) || !client.has_all_of(server)) return "LOST packets of " + name;
      if (received_[connection] != sent_[connection]) return "WRONG stream of " + name;
    }
    return are_answers_wrong_ ? "WRONG answers" : "";
  }

  const Options options_;
  const unsigned clients_;
  const std::uint32_t connections_of_client_, connections_;
  Workload workload_;
  Stack stack_;
  std::vector<Bytes> sent_, received_;
  std::uint64_t begin_ns_ = 0;
  std::vector<std::uint64_t> input_ends_ns_;
  alignas(128) std::atomic<std::int64_t> to_accept_;
  alignas(128) TeamBarrier servers_;
  std::atomic<unsigned> at_work_;
  std::atomic<bool> are_answers_wrong_{false};
};

/// Empty if the options fit together.
template <class Workload>
std::string complaint(const Options& options) {
  if (options.threads % 2 != 0) return "--threads: " + std::to_string(options.threads) + " is odd";
  if (options.message_bytes % Workload::kUnitBytes != 0)
    return "--bytes: not a multiple of " + std::to_string(Workload::kUnitBytes);
  return {};
}

template <class Workload>
int program(int argc, char** argv) {
  Options options;
  options.threads = 8;
  options.messages = Workload::kMessages;
  options.message_bytes = Workload::kMessageBytes;
  CommandLine line(Workload::kName, Workload::kDescription);
  add_team_options(line, options, "two for the network, the others servers and clients in pairs")
      .within(4, 512);
  line.add("--messages", options.messages, "of each client").within(1, 1 << 20);
  line.add("--bytes", options.message_bytes, "of a message").within(1, 1 << 26);
  line.add("--mtu", options.mtu, "most bytes of a packet, with 40 of headers").within(104, 16384);
  line.add("--locks", options.locks, "one lock for each socket, or for each host").one_of({"socket", "host"});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (const std::string wrong = complaint<Workload>(options); !wrong.empty()) return line.refuse(wrong);
  return std::make_unique<Run<Workload>>(options)->run();
}

}  // namespace workloads::network
