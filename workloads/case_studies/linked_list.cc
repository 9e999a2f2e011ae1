// SPDX-License-Identifier: Apache-2.0
// A sorted linked list: searches, insertions and removals of random keys. Written from the TxSampler paper
// (Table 2, "limit transaction size with auxiliary locks") and the arguments of Synchrobench's runs in
// HTMBench: half of the keys are present, 20 % of the operations are updates.
//
//   original  an operation is one section, which walks from the first node to its place
//   short     a section walks at most 10 to 39 nodes. It parks at the last one by marking it (the auxiliary
//             lock), and the next section goes on from there. A parked node is not removed: a thread that
//             would remove it tries again until the mark is gone. A section that would park at a marked
//             node walks on to the next one
//
// A node has 24 bytes: key, next node, mark. An insertion allocates in its section. Check: key_set.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "case_studies/key_set.h"
#include "command_line.h"
#include "support.h"

namespace {

using workloads::CheapRandom;
using workloads::Operation;
using workloads::SetOptions;

constexpr std::uint32_t kLeastSteps = 10, kMoreSteps = 30;  // steps of a section in the variant short

class List {
 public:
  explicit List(const SetOptions& options) : is_short_(options.common.variant == "short") {}
  ~List() {
    for (Node* node = first_.next; node != &last_;) {
      Node* const next = node->next;
      delete node;
      node = next;
    }
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  /// Nodes lie in memory in the order of `keys`.
  void load(const std::vector<std::int32_t>& keys) {
    std::vector<Node*> nodes;
    nodes.reserve(keys.size());
    for (const std::int32_t key : keys) nodes.push_back(new Node{key, nullptr});
    std::ranges::sort(nodes, std::greater<>{}, &Node::key);
    for (Node* const node : nodes) node->next = std::exchange(first_.next, node);
  }

  bool run(const Operation& operation, CheapRandom& random) {
    if (is_short_) return run_short(operation, kLeastSteps + random.below(kMoreSteps));
    Node* removed = nullptr;
    bool changed = false;
    {
      const std::lock_guard lock(mutex_);
      Node* node = &first_;
      while (node->next->key < operation.key) node = node->next;
      changed = change(node, operation, removed);
    }
    delete removed;
    return changed;
  }

  /// Returns whether keys ascend and no node is marked.
  bool check() const {
    for (const Node* node = &first_; node != &last_; node = node->next)
      if (node->is_marked || node->next->key <= node->key) return false;
    return true;
  }
  std::size_t size() const {
    std::size_t number = 0;
    for (const Node* node = first_.next; node != &last_; node = node->next) ++number;
    return number;
  }
  std::int64_t sum() const {
    std::int64_t sum = 0;
    for (const Node* node = first_.next; node != &last_; node = node->next) sum += node->key;
    return sum;
  }

 private:
  struct Node {
    std::int64_t key;
    Node* next;
    bool is_marked = false;
  };

  /// Call it in a section. `before`: the last node with a smaller key. Returns whether the list changed.
  /// Sets `removed` to the node that the caller must free, if there is one.
  static bool change(Node* before, const Operation& operation, Node*& removed) {
    Node* const node = before->next;
    if (!operation.changes(node->key == operation.key)) return false;
    if (operation.kind == Operation::Kind::kInsert) {
      before->next = new Node{operation.key, node};
    } else {
      before->next = node->next;
      removed = node;
    }
    return true;
  }

  enum class Walk { kParked, kDone, kBlocked };

  bool run_short(const Operation& operation, std::uint32_t steps) {
    Node *from = &first_, *removed = nullptr;
    bool changed = false;
    for (Walk walk = Walk::kParked; walk != Walk::kDone;) {
      {
        const std::lock_guard lock(mutex_);
        walk = walk_on(from, operation, steps, changed, removed);
      }
      if (walk == Walk::kBlocked) std::this_thread::yield();
    }
    delete removed;
    return changed;
  }

  /// A section of run_short(). `from`: the node at which the thread is parked, or the first node.
  Walk walk_on(Node*& from, const Operation& operation, std::uint32_t steps, bool& changed, Node*& removed) {
    Node* node = from;
    for (std::uint32_t walked = 0; node->next->key < operation.key; ++walked, node = node->next) {
      if (walked < steps || node->is_marked) continue;
      node->is_marked = true;
      if (from != &first_) from->is_marked = false;
      from = node;
      return Walk::kParked;
    }
    const Node* const next = node->next;
    if (operation.kind == Operation::Kind::kErase && next->key == operation.key && next->is_marked)
      return Walk::kBlocked;
    if (from != &first_) from->is_marked = false;
    changed = change(node, operation, removed);
    return Walk::kDone;
  }

  const bool is_short_;
  alignas(128) std::mutex mutex_;
  alignas(128) Node last_{INT64_MAX, nullptr};
  Node first_{INT64_MIN, &last_};
};

}  // namespace

int main(int argc, char** argv) {
  SetOptions options;
  options.range = 8000;
  options.updates = 20;
  options.operations = 500;
  workloads::CommandLine line("linked_list", "A sorted linked list under one lock");
  workloads::add_set_options(line, options, {"original", "short"});
  if (const auto code = line.parse(argc, argv)) return *code;
  return workloads::run_set<List>(options);
}
