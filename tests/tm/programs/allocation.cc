// SPDX-License-Identifier: Apache-2.0
// A cancel gives back what the transaction allocated and keeps what it freed; a commit does it the other
// way round.
#include <new>

#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

long live;  // of operator new; one thread uses it

struct Node {
  long value;
  Node* next;
};
Node* head;
char* text;
long* array;

void change(bool cancels) {
  __transaction_atomic {
    leave_hardware();
    Node* const node = new Node{7, head};
    head = node;
    Node* const second = head->next;
    if (second != nullptr) {
      head->next = second->next;
      delete second;
    }
    auto* const more = static_cast<char*>(calloc(3, 100));
    more[299] = 'y';
    if (text != nullptr) more[0] = text[299];
    free(text);
    text = more;
    delete[] array;
    array = new long[20]{1, 2, 3};
    void* const unused = malloc(1000);
    free(unused);
    if (cancels) __transaction_cancel;
  }
}

long length() {
  long nodes = 0;
  for (Node* node = head; node != nullptr; node = node->next) ++nodes;
  return nodes;
}

}  // namespace

void* operator new(std::size_t size) {
  ++live;
  return malloc(size);
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) --live;
  free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }

int main() {
  const tm_test::Company company;
  const long before = live;
  change(true);
  expect("live after cancel", live - before, 0);
  expect("nodes after cancel", length(), 0);
  change(false);
  expect("live after commit", live - before, 2);
  expect("nodes after commit", length(), 1);
  change(true);
  expect("live after second cancel", live - before, 2);
  expect("nodes after second cancel", length(), 1);
  for (int i = 0; i < 200; ++i) change(i % 2 == 0);
  expect("live in the end", live - before, 2);
  expect("nodes in the end", length(), 1);
  expect("text", text[0], 'y');
  expect("array", array[2], 3);
}
