// SPDX-License-Identifier: Apache-2.0
// privatisation [ROUNDS]: threads take nodes out of a shared list and change them without transactions. A
// transaction that still traverses the list must never see such a change.
#include "program.h"

using tm_test::leave_hardware;

namespace {

struct alignas(256) Node {
  long left, right;
  Node* next;
};
constexpr int kNodes = 12;
Node nodes[kNodes];
Node* head;
long wrong_sums;

Node* take() {
  Node* taken = nullptr;
  __transaction_atomic {
    leave_hardware();
    taken = head;
    if (taken != nullptr) head = taken->next;
  }
  return taken;
}

void give(Node* node) {
  __transaction_atomic {
    node->next = head;
    head = node;
  }
}

void change(Node* node, long amount) {
  auto* const left = const_cast<volatile long*>(&node->left);
  auto* const right = const_cast<volatile long*>(&node->right);
  *left = *left + amount;
  for (int i = 0; i < 50; ++i) asm volatile("" : : : "memory");
  *right = *right - amount;
}

/// The list is consistent if left and right of each node cancel out.
long sum() {
  long result = 0;
  __transaction_atomic {
    leave_hardware();
    result = 0;
    for (Node* node = head; node != nullptr; node = node->next) {
      const long in_node = node->left + node->right;
      result += in_node * in_node;
    }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 1500;
  for (Node& node : nodes) give(&node);
  tm_test::run_threads(4, [&](int number) {
    for (long i = 0; i < rounds; ++i) {
      if (number < 2) {
        Node* const node = take();
        if (node == nullptr) continue;
        change(node, i);
        give(node);
      } else if (sum() != 0) {
        __transaction_atomic { ++wrong_sums; }
      }
    }
  });
  tm_test::expect("wrong sums", wrong_sums, 0);
  tm_test::expect("last sum", sum(), 0);
}
