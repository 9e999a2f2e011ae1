// SPDX-License-Identifier: Apache-2.0
// Kernels with one kind of work each, easy or hard for a virtual machine.
//
//   micro NAME [ROUNDS]      the default number of rounds takes one to two seconds on a current CPU
//
//   map        std::map<int, int>: look-ups, insertions and removals of random keys (pointers, branches)
//   chase      dependent loads through 4 MB (only cache misses)
//   copies     memcpy of 8 to 63 bytes at odd places (short library calls)
//   recursion  Fibonacci by recursion (calls and returns)
//   matrix     product of two double matrices (vectors, regular accesses)
//   integer    dependent and independent integer arithmetic with branches (no memory)
//
// Prints a checksum that depends on all the work.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Checksum = std::uint64_t;

std::uint64_t state = 88172645463325252u;

// xorshift64: the same numbers everywhere.
std::uint64_t draw() {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

Checksum run_map(std::uint64_t rounds) {
  constexpr std::uint64_t kKeys = 1 << 16;
  std::map<int, int> map;
  Checksum sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const int key = static_cast<int>(draw() % kKeys);
    const std::uint64_t choice = draw() % 10;
    if (choice == 0) {
      map.erase(key);
    } else if (choice == 1) {
      map[key] = static_cast<int>(i);
    } else {
      const auto found = map.find(key);
      sum += found == map.end() ? 1 : static_cast<std::uint64_t>(found->second);
    }
  }
  return sum + map.size();
}

Checksum run_chase(std::uint64_t rounds) {
  constexpr std::uint32_t kLines = 1 << 16;
  struct alignas(64) Line {
    std::uint32_t next;
  };
  // Sattolo's shuffle: one cycle through every line.
  std::vector<Line> lines(kLines);
  for (std::uint32_t i = 0; i < kLines; ++i) lines[i].next = i;
  for (std::uint32_t i = kLines - 1; i > 0; --i) std::swap(lines[i].next, lines[draw() % i].next);
  std::uint32_t at = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) at = lines[at].next;
  return at;
}

Checksum run_copies(std::uint64_t rounds) {
  constexpr std::uint64_t kBytes = 1 << 14;
  std::vector<unsigned char> from(kBytes + 64), to(kBytes + 64);
  for (unsigned char& byte : from) byte = static_cast<unsigned char>(draw());
  Checksum sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t random = draw();
    std::memcpy(&to[random % kBytes], &from[(random >> 20) % kBytes], 8 + (random >> 40) % 56);
    sum += to[(random >> 10) % kBytes];
  }
  return sum;
}

__attribute__((noinline)) Checksum fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

Checksum run_recursion(std::uint64_t rounds) {
  constexpr unsigned kDepth = 27;
  Checksum sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) sum += fibonacci(kDepth + static_cast<unsigned>(i % 2));
  return sum;
}

Checksum run_matrix(std::uint64_t rounds) {
  constexpr unsigned kSize = 256;
  std::vector<double> a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
  for (double& x : a) x = static_cast<double>(draw() % 100);
  for (double& x : b) x = static_cast<double>(draw() % 100);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < kSize; ++i) {
      for (unsigned k = 0; k < kSize; ++k) {
        const double factor = a[i * kSize + k];
        for (unsigned j = 0; j < kSize; ++j) c[i * kSize + j] += factor * b[k * kSize + j];
      }
    }
  }
  double sum = 0;
  for (const double x : c) sum += x;
  return static_cast<Checksum>(sum);
}

// Hides `value` from the compiler, so that it cannot merge rounds.
inline void hide(std::uint64_t& value) { __asm__("" : "+r"(value)); }

Checksum run_integer(std::uint64_t rounds) {
  std::uint64_t chain = 1, sum = 0, bits = 0, difference = 0, rare = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    chain = chain * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    sum += i * 5;
    bits ^= i << 7;
    difference -= i >> 3;
    hide(sum), hide(bits), hide(difference);
    if (chain >> 60 == 0) {  // one round of sixteen
      rare += sum ^ bits;
      hide(rare);
    }
  }
  return chain + sum + bits + difference + rare;
}

struct Kernel {
  const char* name;
  Checksum (*run)(std::uint64_t rounds);
  std::uint64_t rounds;
};

constexpr Kernel kKernels[] = {
    {"map", run_map, 12000000},         {"chase", run_chase, 40000000}, {"copies", run_copies, 60000000},
    {"recursion", run_recursion, 1600}, {"matrix", run_matrix, 300},    {"integer", run_integer, 800000000},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Kernel& kernel : kKernels) {
    if (argc < 2 || std::string(argv[1]) != kernel.name) continue;
    const std::uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kernel.rounds;
    std::printf("%s %llu\n", kernel.name, static_cast<unsigned long long>(kernel.run(rounds)));
    return 0;
  }
  std::fprintf(stderr, "micro map|chase|copies|recursion|matrix|integer [ROUNDS]\n");
  return 2;
}
