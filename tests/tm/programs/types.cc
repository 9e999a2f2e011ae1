// SPDX-License-Identifier: Apache-2.0
// Reads and writes of every type of the ABI, at every alignment that a packed structure gives, and copies
// of every length and overlap.
#include <immintrin.h>

#include "program.h"

using tm_test::expect;
using tm_test::leave_hardware;

namespace {

struct [[gnu::packed]] Packed {
  unsigned char one;
  unsigned short two;
  unsigned four;
  unsigned long eight;
  float real;
  double wide;
};
Packed packed[40];
unsigned char one = 1;
unsigned short two = 2;
unsigned four = 3;
unsigned long eight = 4;
float real = 5;
double wide = 6;
long double widest = 7;
_Complex float pair = 8;
_Complex double wide_pair = 9;
_Complex long double widest_pair = 10;
alignas(16) __m128 four_reals = {1, 2, 3, 4};
alignas(32) float eight_reals[8] = {1, 2, 3, 4, 5, 6, 7, 8};

[[gnu::target("avx"), gnu::noinline]] void double_eight() {
  auto* const place = reinterpret_cast<__m256*>(eight_reals);
  __transaction_atomic {
    leave_hardware();
    *place = *place + *place;
  }
}

void double_all() {
  __transaction_atomic {
    leave_hardware();
    one = static_cast<unsigned char>(one * 2);
    two = static_cast<unsigned short>(two * 2);
    four *= 2;
    eight *= 2;
    real *= 2;
    wide *= 2;
    widest *= 2;
    pair *= 2;
    wide_pair *= 2;
    widest_pair *= 2;
    four_reals = four_reals + four_reals;
    for (Packed& each : packed) {
      ++each.one;
      each.two = static_cast<unsigned short>(each.two + each.one);
      each.four += each.two;
      each.eight += each.four;
      each.real += 1;
      each.wide += each.real;
    }
  }
}

unsigned char bytes[1000], model[1000];

long differences() {
  long count = 0;
  for (int i = 0; i < 1000; ++i) count += bytes[i] != model[i];
  return count;
}

long copy_all() {
  unsigned long state = 9;
  const auto draw = [&](unsigned long below) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % below;
  };
  for (int i = 0; i < 1000; ++i) bytes[i] = model[i] = static_cast<unsigned char>(draw(256));
  for (int round = 0; round < 300; ++round) {
    const unsigned long length = draw(300), from = draw(700), to = draw(700), value = draw(256);
    unsigned char own[300];
    std::memcpy(own, model + from, length);
    __transaction_atomic {
      leave_hardware();
      std::memset(bytes + to, static_cast<int>(value), length / 2);
      std::memmove(bytes + to, bytes + from, length);
      bytes[to]++;
      std::memcpy(bytes + from, own, length);
    }
    std::memset(model + to, static_cast<int>(value), length / 2);
    std::memmove(model + to, model + from, length);
    model[to]++;
    std::memcpy(model + from, own, length);
    if (differences() != 0) return round + 1;
  }
  return 0;
}

}  // namespace

int main() {
  const tm_test::Company company;
  for (int i = 0; i < 3; ++i) double_all();
  expect("integers", one + two + static_cast<long>(four + eight), 8 * (1 + 2 + 3 + 4));
  expect("reals", static_cast<long>(real + wide + static_cast<double>(widest)), 8 * (5 + 6 + 7));
  expect("complex",
         static_cast<long>(__real__ pair + __real__ wide_pair + static_cast<double>(__real__ widest_pair)),
         8 * (8 + 9 + 10));
  expect("vector", static_cast<long>(four_reals[0] + four_reals[3]), 40);
  long sum = 0;
  for (const Packed& each : packed) {
    sum += each.one + each.two + static_cast<long>(each.four + each.eight);
    sum += static_cast<long>(each.real + each.wide);
  }
  expect("packed", sum, 40 * (3 + 6 + 10 + 15 + 3 + 6));
  if (__builtin_cpu_supports("avx")) double_eight();
  expect("copies wrong since round", copy_all(), 0);
}
