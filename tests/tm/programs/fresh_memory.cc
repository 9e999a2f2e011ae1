// SPDX-License-Identifier: Apache-2.0
// Memory that a transaction allocates, and passes to functions whose clones have barriers: GCC itself reads
// and writes it without barriers.
#include <cstring>
#include <new>

#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

constexpr long kValues = 20;

struct Pair {
  long one, other;
};

struct Block {
  Pair pair;
  long values[kValues];
  Block* next;
  char text[40];
};

[[gnu::noinline, gnu::transaction_safe]] void add(Block* block, long number) {
  for (long& value : block->values) value += number;
}
[[gnu::noinline, gnu::transaction_safe]] void name(Block* block, const char* text) {
  std::memcpy(block->text, text, 20);
}
[[gnu::noinline, gnu::transaction_safe]] void set(Block* block, long one, long other) {
  block->pair.one = one;
  block->pair.other = other;
}
[[gnu::noinline, gnu::transaction_safe]] long difference(Pair pair) { return pair.one - pair.other; }
[[gnu::noinline, gnu::transaction_safe]] Block* make(Block* next) {
  auto* const block = static_cast<Block*>(malloc(sizeof(Block)));
  for (long& value : block->values) value = 1;
  block->next = next;
  return block;
}

Block* kept;
long first, last, text, by_value, sum, blocks;

/// One block, which is read where it was allocated.
void one() {
  __transaction_atomic {
    leave_hardware();
    auto* const block = static_cast<Block*>(malloc(sizeof(Block)));
    block->values[0] = block->values[kValues - 1] = 7;
    block->text[0] = 'a';
    add(block, 5);
    name(block, "a text of twenty b.");
    first = block->values[0];
    last = block->values[kValues - 1];
    text = block->text[0] + block->text[17];
    block->values[1] = 3;
    add(block, 1);
    last += block->values[1];
    set(block, 1000, 1);
    by_value = difference(block->pair);
    kept = block;
  }
}

/// Many blocks, changed in another order than allocated, and a large one behind them.
void many(long number) {
  __transaction_atomic {
    leave_hardware();
    Block* list = nullptr;
    for (long i = 0; i < number; ++i) list = make(list);
    for (Block* block = list; block != nullptr; block = block->next) add(block, 2);
    auto* const large = static_cast<long*>(calloc(10000, sizeof(long)));
    large[9999] = 4;
    sum = large[9999] + large[0];
    for (Block* block = list; block != nullptr;) {
      Block* const next = block->next;
      sum += block->values[3];
      ++blocks;
      free(block);
      block = next;
    }
    free(large);
  }
}

}  // namespace

int main() {
  const tm_test::Company company;
  one();
  expect("first", first, 12);
  expect("last", last, 16);
  expect("text", text, 'a' + 'b');
  expect("by value", by_value, 999);
  expect("kept", kept->values[1], 4);
  many(100);
  expect("sum", sum, 304);
  expect("blocks", blocks, 100);
  free(kept);
}
