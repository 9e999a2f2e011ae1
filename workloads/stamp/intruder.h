// SPDX-License-Identifier: Apache-2.0
// Intruder (STAMP): finds attacks in flows of a network whose packets arrive in any order. Written from
// STAMP's description (Cao Minh et al., IISWC 2008), which has it from Haagdorens et al. (WISA 2004).
//
// Sections: a thread takes a packet from one queue for all. It gives the packet to the decoder, a red-black
// tree from flows to sorted lists of their packets; the section that brings the last packet of a flow joins
// the data of all in new memory, removes the flow from the tree, and puts the data on the queue of complete
// flows. It takes a complete flow from there, if there is one, and searches it for signatures, outside of
// sections. Both queues write their ends in each section; the tree is rebalanced now and then.
//
// Joined data stays allocated for the check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "stamp/list.h"
#include "stamp/queue.h"
#include "stamp/red_black_tree.h"
#include "support.h"

namespace workloads::intruder {

inline constexpr const char* kDescription = "STAMP's intruder: attacks in reassembled flows of packets";

struct Options {
  sections::TeamOptions team;
  unsigned attacks = 10, longest = 4, flows = 2038;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-a,--attacks", options.attacks, "per cent of flows").within(0, 100);
  line.add("-l,--longest", options.longest, "most packets of a flow, and bytes of one without an attack")
      .within(1, 1 << 16);
  line.add("-n,--flows", options.flows, "of the input").within(1, 1 << 24);
}

inline std::string complaint(const Options&) { return {}; }

/// Strings in lower case. A flow that has one of them, in any case, is an attack.
inline constexpr std::string_view kSignatures[] = {
    "/etc/passwd",  "/etc/shadow",  "/bin/sh",     "../..",    "..%2f",       "..%5c",       "%00",
    "%c0%af",       "cmd.exe",      "command.com", "root.exe", "sh -i",       "nc -e",       "wget ",
    "curl ",        "chmod 777",    "rm -rf",      "<script",  "onerror=",    "javascript:", "eval(",
    "base64,",      "union select", "' or '1'='1", "or 1=1",   "; drop",      "xp_cmd",      "select *",
    "phpinfo",      "allow_url",    "${jndi:",     "(){:;}",   "user root",   "site exec",   "expn root",
    "vrfy root",    "\x90\x90\x90", "%n%n",        "%s%s",     "default.ida", "formmail",    "awstats",
    "/cgi-bin/phf", "test-cgi",     "nph-",        "htgrep",   "_vti_",       ".htaccess",   ".history",
};

inline bool is_attack(std::string_view data) {
  std::string lower(data);
  for (char& character : lower) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  return std::any_of(std::begin(kSignatures), std::end(kSignatures),
                     [&](std::string_view signature) { return lower.find(signature) != std::string::npos; });
}

/// A part of a flow's data. Nothing changes it.
struct Packet {
  std::size_t flow, fragment, fragments;  // which one of how many
  const char* data;
  std::size_t length;
};

/// Flows, and their packets in random order.
class Input {
 public:
  explicit Input(const Options& options) : options_(options), random_(options.team.seed) {
    for (unsigned flow = 0; flow < options.flows; ++flow) {
      flows_.push_back(random_.below(100) < options.attacks ? attack() : harmless());
      // Harmless data may happen to have a signature.
      if (is_attack(flows_.back())) attacks_.push_back(flow);
    }
    for (std::size_t flow = 0; flow < flows_.size(); ++flow) split(flow);
    for (std::size_t i = packets_.size(); i > 1; --i)
      std::swap(packets_[i - 1], packets_[random_.below(static_cast<std::uint32_t>(i))]);
  }

  const std::vector<Packet>& packets() const { return packets_; }
  const std::vector<std::string>& flows() const { return flows_; }
  /// Flows that have signatures, in order.
  const std::vector<std::size_t>& attacks() const { return attacks_; }

 private:
  std::string attack() { return std::string(kSignatures[random_.below(std::size(kSignatures))]); }

  std::string harmless() {
    std::string data(1 + random_.below(options_.longest), '\0');
    for (char& character : data) character = static_cast<char>(' ' + random_.below('~' - ' ' + 1));
    return data;
  }

  /// Packets of the same length, and a last one with the rest.
  void split(std::size_t flow) {
    const std::string& data = flows_[flow];
    const std::size_t most = std::min<std::size_t>(data.size(), options_.longest);
    const std::size_t fragments = 1 + random_.below(static_cast<std::uint32_t>(most));
    const std::size_t length = data.size() / fragments;
    for (std::size_t i = 0; i < fragments; ++i) {
      const bool is_last = i + 1 == fragments;
      packets_.push_back(
          {flow, i, fragments, &data[i * length], is_last ? data.size() - i * length : length});
    }
  }

  const Options& options_;
  CheapRandom random_;
  std::vector<std::string> flows_;
  std::vector<std::size_t> attacks_;
  std::vector<Packet> packets_;
};

/// The joined data of a flow.
struct Decoded {
  std::size_t flow;
  char* data;
  std::size_t length;
};

struct ComparePackets {
  int operator()(const Packet* one, const Packet* other) const {
    return one->fragment < other->fragment ? -1 : one->fragment > other->fragment ? 1 : 0;
  }
};

/// Joins packets to flows. All but the constructor and destructor is for use in a section.
class Decoder {
 public:
  Decoder() = default;
  ~Decoder() {
    sections::Plain plain;
    complete_.clear(plain);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  template <class Transaction>
  void add(Transaction& transaction, const Packet* packet) {
    if (packet->fragments == 1) {
      char* const data = transaction.template make_array<char>(packet->length);
      copy(packet, data);
      put(transaction, packet->flow, data, packet->length);
      return;
    }
    Fragments* fragments = flows_.find(transaction, packet->flow);
    if (fragments == nullptr) {
      fragments = transaction.template make<Fragments>();
      flows_.insert(transaction, packet->flow, fragments);
    }
    fragments->insert(transaction, packet);
    if (fragments->length(transaction) == packet->fragments) join(transaction, packet->flow, fragments);
  }

  /// Takes a complete flow from the queue. Returns null if the queue is empty.
  template <class Transaction>
  Decoded* take(Transaction& transaction) {
    Decoded* decoded = nullptr;
    return complete_.pop(transaction, decoded) ? decoded : nullptr;
  }

  /// Whether it has no packets and its tree is a red-black tree. After the threads have ended.
  bool is_empty() const { return flows_.check() && flows_.size() == 0; }

 private:
  using Fragments = stamp::List<const Packet, ComparePackets>;

  /// Data of packets never changes, and that of a flow is new until put().
  static char* copy(const Packet* packet, char* to) {
    for (std::size_t i = 0; i < packet->length; ++i) *to++ = packet->data[i];
    return to;
  }

  template <class Transaction>
  void join(Transaction& transaction, std::size_t flow, Fragments* fragments) {
    std::size_t length = 0;
    for (auto* node = fragments->first(transaction); node != nullptr;
         node = Fragments::next(transaction, node))
      length += node->data->length;
    char* const data = transaction.template make_array<char>(length);
    char* end = data;
    for (auto* node = fragments->first(transaction); node != nullptr;
         node = Fragments::next(transaction, node))
      end = copy(node->data, end);
    fragments->clear(transaction);
    transaction.release(fragments);
    flows_.erase(transaction, flow);
    put(transaction, flow, data, length);
  }

  template <class Transaction>
  void put(Transaction& transaction, std::size_t flow, char* data, std::size_t length) {
    complete_.push(transaction, transaction.template make<Decoded>(flow, data, length));
  }

  alignas(128) stamp::RedBlackTree<std::size_t, Fragments*> flows_;
  alignas(128) stamp::Queue<Decoded*> complete_;
};

/// What one thread found.
struct Findings {
  std::vector<Decoded*> decoded;
  std::vector<std::size_t> attacks;
};

class Detection {
 public:
  Detection(const Input& input, const Options& options) : input_(input), findings_(options.team.threads) {
    sections::Plain plain;
    for (const Packet& packet : input.packets()) packets_.push(plain, &packet);
  }
  ~Detection() {
    sections::Plain plain;
    packets_.clear(plain);
    for (Decoded* const decoded : all_decoded()) {
      plain.release(decoded->data);
      plain.release(decoded);
    }
  }
  Detection(const Detection&) = delete;
  Detection& operator=(const Detection&) = delete;

  /// What each thread does.
  template <class Thread>
  void work(Thread& thread, unsigned index) {
    Findings findings;
    for (;;) {
      const Packet* packet = nullptr;
      thread.atomically([&](auto& transaction) {
        if (!packets_.pop(transaction, packet)) packet = nullptr;
      });
      if (packet == nullptr) break;
      thread.atomically([&](auto& transaction) { decoder_.add(transaction, packet); });
      Decoded* decoded = nullptr;
      thread.atomically([&](auto& transaction) { decoded = decoder_.take(transaction); });
      if (decoded == nullptr) continue;
      findings.decoded.push_back(decoded);
      if (is_attack({decoded->data, decoded->length})) findings.attacks.push_back(decoded->flow);
    }
    findings_[index] = std::move(findings);
  }

  /// Says what is wrong with the findings, or returns null. Each flow must be decoded once, with its original
  /// data.
  const char* complaint() const {
    std::vector<bool> seen(input_.flows().size());
    const std::vector<Decoded*> all = all_decoded();
    for (const Decoded* const decoded : all) {
      if (decoded->flow >= seen.size() || seen[decoded->flow]) return "flow that was decoded twice";
      seen[decoded->flow] = true;
      if (input_.flows()[decoded->flow] != std::string_view(decoded->data, decoded->length))
        return "data of a flow";
    }
    if (all.size() != seen.size()) return "number of decoded flows";
    if (!decoder_.is_empty()) return "decoder";
    return attacks() == input_.attacks() ? nullptr : "attacks";
  }

  /// Flows that are attacks, in order.
  std::vector<std::size_t> attacks() const {
    std::vector<std::size_t> all;
    for (const Findings& one : findings_) all.insert(all.end(), one.attacks.begin(), one.attacks.end());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::vector<Decoded*> all_decoded() const {
    std::vector<Decoded*> all;
    for (const Findings& one : findings_) all.insert(all.end(), one.decoded.begin(), one.decoded.end());
    return all;
  }

  const Input& input_;
  alignas(128) stamp::Queue<const Packet*> packets_;
  Decoder decoder_;
  std::vector<Findings> findings_;
};

template <class Sections>
int run(const Options& options) {
  const Input input(options);
  const auto shared = std::make_unique<Sections>();
  Detection detection(input, options);
  sections::run_sections(*shared, options.team,
                         [&](auto& thread, unsigned index, TeamBarrier&) { detection.work(thread, index); });
  if (sections::is_wrong(detection.complaint())) return 1;
  std::printf("flows: %zu, in %zu packets\nattacks: %zu\n", input.flows().size(), input.packets().size(),
              detection.attacks().size());
  return 0;
}

}  // namespace workloads::intruder
