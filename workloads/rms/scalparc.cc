// SPDX-License-Identifier: Apache-2.0
// ScalParC (RMS-TM, from MineBench): grows a decision tree over records, level by level. Written from the
// descriptions of the suite (Kestor et al., ICPE 2011) and of the algorithm (Joshi, Karypis, Kumar:
// "ScalParC: A New Scalable and Efficient Parallel Classification Algorithm for Mining Large Datasets", IPPS
// 1998).
//
// Each attribute has a list of all records, which is sorted by the attribute's value at first. A node of
// the tree has the same range of each list. For each node of a level, threads take attributes and look for
// the split with the least Gini index. One thread chooses a split, makes the children, and notes each
// record's child in a table. Then threads take attributes again, divide their lists by that table, and
// count classes for the children. Sections access a node:
//
//   take attributes      reads and writes the number of the next attribute
//   note classes         writes a flag, twice if there is more than one class
//
// A section reads and writes one line of memory. Fine-grained locks: a mutex for each node.
//
// A class is a union of boxes over some attributes. A node's class counts must be equal for all attributes,
// each record must reach a leaf of its class, and the tree must equal the tree that one thread grows: else
// "WRONG ..." and exit code 1.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "rms/classified_records.h"
#include "rms/workers.h"

namespace workloads::rms {
namespace {

struct Options {
  TeamOptions team;
  unsigned records = 4000, attributes = 32;
};

struct Split {
  double impurity = 2;  // more than any
  std::size_t attribute = 0;
  std::size_t left_size = 0;
  float value = 0;  // the least value of the right child

  /// The order of attributes decides between equal splits, so the result does not depend on which thread
  /// found them.
  bool is_better_than(const Split& other) const {
    return std::pair(impurity, attribute) < std::pair(other.impurity, other.attribute);
  }
};

struct Node {
  Node(std::size_t begin_, std::size_t size_, std::size_t attributes, unsigned threads)
      : begin(begin_), size(size_), counts(attributes), found(threads) {}

  // Sections read and write these.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::size_t next_attribute = 0;
  bool has_several_classes = false;

  const std::size_t begin, size;    // its range of each list
  std::vector<ClassCounts> counts;  // by attribute
  std::vector<Split> found;         // by thread
  Split split;                      // if it has children
  std::unique_ptr<Node> left, right;
};

class Classifier {
 public:
  Classifier(const Records& records, unsigned threads)
      : threads_(threads), lists_(records.lists()), goes_right_(records.size()) {
    root_ = make_node(0, records.size());
    for (std::size_t record = 0; record < records.size(); ++record)
      for (ClassCounts& counts : root_->counts) ++counts[records.class_of(record)];
    level_.push_back(root_.get());
  }

  /// The work of each thread.
  void work(Worker& worker) {
    while (!level_.empty()) {
      for (Node* const node : level_) find_splits(worker, *node);
      worker.alone([&] {
        for (Node* const node : level_) choose_split(*node);
      });
      for (Node* const node : level_)
        if (node->left != nullptr) divide_lists(worker, *node);
      worker.alone([&] { next_level(); });
    }
  }

  const Node& root() const { return *root_; }
  unsigned levels() const { return levels_; }
  unsigned nodes() const { return nodes_; }
  /// Returns whether each node's class counts were equal for all attributes.
  bool counts_agree() const { return counts_agree_; }

 private:
  std::size_t attributes() const { return lists_.size(); }

  std::unique_ptr<Node> make_node(std::size_t begin, std::size_t size) {
    ++nodes_;
    return std::make_unique<Node>(begin, size, attributes(), threads_);
  }

  /// Takes attributes of a node until there are none left, and calls `visit(attribute)` for them, and
  /// `took()` before.
  template <class Took, class Visit>
  void take_attributes(Worker& worker, Node& node, Took took, Visit visit) {
    const std::size_t chunk = (attributes() + worker.threads - 1) / worker.threads;
    for (;;) {
      std::size_t begin = 0;
      worker.sections.run(node.mutex, [&] {
        begin = node.next_attribute;
        node.next_attribute += chunk;
      });
      if (begin >= attributes()) return;
      took(begin);
      for (std::size_t i = begin; i < std::min(begin + chunk, attributes()); ++i) visit(i);
    }
  }

  static bool has_several(const ClassCounts& counts) {
    return std::count(counts.begin(), counts.end(), 0u) + 1 < static_cast<std::ptrdiff_t>(kClasses);
  }

  void find_splits(Worker& worker, Node& node) {
    Split& best = node.found[worker.index];
    bool has_several_classes = false;
    take_attributes(
        worker, node,
        [&](std::size_t first) {
          has_several_classes = has_several(node.counts[first]);
          worker.sections.run(node.mutex, [&] { node.has_several_classes = false; });
          if (has_several_classes) worker.sections.run(node.mutex, [&] { node.has_several_classes = true; });
        },
        [&](std::size_t attribute) {
          if (!has_several_classes) return;
          const Split split = best_split(node, attribute);
          if (split.is_better_than(best)) best = split;
        });
  }

  /// Returns the split between two different values with the least Gini index of the two parts, weighted by
  /// their sizes.
  Split best_split(const Node& node, std::size_t attribute) const {
    const Entry* const entries = &lists_[attribute][node.begin];
    ClassCounts below{}, above = node.counts[attribute];
    Split best;
    for (std::size_t i = 1; i < node.size; ++i) {
      const std::uint32_t moved = entries[i - 1].its_class;
      ++below[moved];
      --above[moved];
      if (entries[i - 1].value == entries[i].value) continue;
      const double impurity = weighted_impurity(below, i) + weighted_impurity(above, node.size - i);
      if (impurity / static_cast<double>(node.size) < best.impurity)
        best = {impurity / static_cast<double>(node.size), attribute, i, entries[i].value};
    }
    return best;
  }

  static double weighted_impurity(const ClassCounts& counts, std::size_t size) {
    double squares = 0;
    for (const std::uint32_t count : counts) squares += static_cast<double>(count) * count;
    return static_cast<double>(size) - squares / static_cast<double>(size);
  }

  void choose_split(Node& node) {
    for (const ClassCounts& counts : node.counts)
      counts_agree_ = counts_agree_ && counts == node.counts.front();
    node.next_attribute = 0;
    for (const Split& found : node.found)
      if (found.is_better_than(node.split)) node.split = found;
    const Split& split = node.split;
    if (!node.has_several_classes || split.left_size == 0) return;
    node.left = make_node(node.begin, split.left_size);
    node.right = make_node(node.begin + split.left_size, node.size - split.left_size);
    const List& list = lists_[split.attribute];
    for (std::size_t i = 0; i < node.size; ++i)
      goes_right_[list[node.begin + i].record] = i < split.left_size ? 0 : 1;
  }

  void divide_lists(Worker& worker, Node& node) {
    take_attributes(
        worker, node, [](std::size_t) {}, [&](std::size_t attribute) { divide(node, attribute); });
  }

  /// Divides an attribute's list between the children and keeps the order of each part.
  void divide(Node& node, std::size_t attribute) {
    Entry* const entries = &lists_[attribute][node.begin];
    List left, right;
    left.reserve(node.size);
    right.reserve(node.size);
    for (std::size_t i = 0; i < node.size; ++i) {
      const bool goes_right = goes_right_[entries[i].record] != 0;
      (goes_right ? right : left).push_back(entries[i]);
      ++(goes_right ? node.right : node.left)->counts[attribute][entries[i].its_class];
    }
    std::copy(right.begin(), right.end(), std::copy(left.begin(), left.end(), entries));
  }

  void next_level() {
    std::vector<Node*> next;
    for (const Node* const node : level_)
      if (node->left != nullptr) next.insert(next.end(), {node->left.get(), node->right.get()});
    level_ = std::move(next);
    ++levels_;
  }

  const unsigned threads_;
  std::vector<List> lists_;                // by attribute
  std::vector<unsigned char> goes_right_;  // by record: whether it goes to the right child
  std::unique_ptr<Node> root_;
  std::vector<Node*> level_;
  unsigned levels_ = 0, nodes_ = 0;
  bool counts_agree_ = true;
};

bool are_alike(const Node& a, const Node& b) {
  if (a.begin != b.begin || a.size != b.size || a.counts != b.counts) return false;
  if ((a.left == nullptr) != (b.left == nullptr)) return false;
  if (a.left == nullptr) return true;
  return a.split.attribute == b.split.attribute && a.split.value == b.split.value &&
         are_alike(*a.left, *b.left) && are_alike(*a.right, *b.right);
}

/// Returns whether each record reaches a leaf that has only its class.
bool classifies(const Node& root, const Records& records) {
  for (std::size_t record = 0; record < records.size(); ++record) {
    const Node* node = &root;
    while (node->left != nullptr) {
      const bool goes_left = records.value(node->split.attribute, record) < node->split.value;
      node = goes_left ? node->left.get() : node->right.get();
    }
    if (node->counts.front()[records.class_of(record)] != node->size) return false;
  }
  return true;
}

std::string complaint(const Classifier& grown, const Classifier& alone, const Records& records) {
  if (!grown.counts_agree()) return "class counts";
  if (!are_alike(grown.root(), alone.root())) return "tree";
  return classifies(grown.root(), records) ? "" : "classes";
}

int run(const Options& options) {
  const Records records(options.records, options.attributes, options.team.seed);
  Classifier alone(records, 1), grown(records, options.team.threads);
  run_alone([&](Worker& worker) { alone.work(worker); });
  run_together(options.team, "records", records.size(), [&](Worker& worker) { grown.work(worker); });
  std::printf("nodes: %u\nlevels: %u\n", grown.nodes(), grown.levels());
  return exit_code_if_wrong(complaint(grown, alone, records));
}

}  // namespace
}  // namespace workloads::rms

int main(int argc, char** argv) {
  using namespace workloads;
  rms::Options options;
  CommandLine line("scalparc", "RMS-TM's ScalParC: a decision tree over records");
  rms::add_team_options(line, options.team);
  line.add("--records", options.records, "of the input").within(1, 1 << 20);
  line.add("--attributes", options.attributes, "of a record").within(1, 256);
  if (const auto code = line.parse(argc, argv)) return *code;
  return rms::run(options);
}
