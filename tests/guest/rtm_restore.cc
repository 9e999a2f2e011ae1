// SPDX-License-Identifier: Apache-2.0
// An abort restores every register and every byte.
#include <sys/mman.h>

#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr const char* kNames[] = {"RCX", "RDX", "RBX", "RBP", "RSI", "RDI", "R8", "R9",
                                  "R10", "R11", "R12", "R13", "R14", "R15", "RSP"};
constexpr unsigned kCount = 15;

extern "C" {
std::uint64_t rules_before[kCount], rules_after[kCount], rules_status;
void rules_all_registers();
}

// Every register gets a value of its own, a transaction changes them all, and aborts.
asm(R"(
    .pushsection .text
    .globl rules_all_registers
rules_all_registers:
    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15
    mov $0x0101010101010101, %rcx; mov $0x0202020202020202, %rdx
    mov $0x0303030303030303, %rbx; mov $0x0404040404040404, %rbp
    mov $0x0505050505050505, %rsi; mov $0x0606060606060606, %rdi
    mov $0x0707070707070707, %r8;  mov $0x0808080808080808, %r9
    mov $0x0909090909090909, %r10; mov $0x0a0a0a0a0a0a0a0a, %r11
    mov $0x0b0b0b0b0b0b0b0b, %r12; mov $0x0c0c0c0c0c0c0c0c, %r13
    mov $0x0d0d0d0d0d0d0d0d, %r14; mov $0x0e0e0e0e0e0e0e0e, %r15
    mov %rcx, rules_before+0(%rip);  mov %rdx, rules_before+8(%rip)
    mov %rbx, rules_before+16(%rip); mov %rbp, rules_before+24(%rip)
    mov %rsi, rules_before+32(%rip); mov %rdi, rules_before+40(%rip)
    mov %r8, rules_before+48(%rip);  mov %r9, rules_before+56(%rip)
    mov %r10, rules_before+64(%rip); mov %r11, rules_before+72(%rip)
    mov %r12, rules_before+80(%rip); mov %r13, rules_before+88(%rip)
    mov %r14, rules_before+96(%rip); mov %r15, rules_before+104(%rip)
    mov %rsp, rules_before+112(%rip)
    mov $-1, %rax
    xbegin 1f
    push %rax; push %rax; sub $256, %rsp; push %rcx
    xor %ecx, %ecx; xor %edx, %edx; xor %ebx, %ebx; xor %ebp, %ebp; xor %esi, %esi; xor %edi, %edi
    xor %r8d, %r8d; xor %r9d, %r9d; xor %r10d, %r10d; xor %r11d, %r11d; xor %r12d, %r12d
    xor %r13d, %r13d; xor %r14d, %r14d; xor %r15d, %r15d
    xabort $1
1:
    mov %rcx, rules_after+0(%rip);  mov %rdx, rules_after+8(%rip)
    mov %rbx, rules_after+16(%rip); mov %rbp, rules_after+24(%rip)
    mov %rsi, rules_after+32(%rip); mov %rdi, rules_after+40(%rip)
    mov %r8, rules_after+48(%rip);  mov %r9, rules_after+56(%rip)
    mov %r10, rules_after+64(%rip); mov %r11, rules_after+72(%rip)
    mov %r12, rules_after+80(%rip); mov %r13, rules_after+88(%rip)
    mov %r14, rules_after+96(%rip); mov %r15, rules_after+104(%rip)
    mov %rsp, rules_after+112(%rip)
    mov rules_before+112(%rip), %rsp
    mov %rax, rules_status(%rip)
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
    ret
    .popsection
)");

const char* general_registers() {
  for (int i = 0; i < kTries; ++i) {
    rules_all_registers();
    for (unsigned k = 0; k < kCount; ++k)
      if (rules_before[k] != rules_after[k]) return seen("%s is %#lx", kNames[k], rules_after[k]);
    if (static_cast<std::uint32_t>(rules_status) == 0x01000001) return nullptr;
  }
  return "XABORT never gave its status";
}

const char* flags() {
  for (std::uint64_t bits = 0; bits < 64; ++bits) {
    const std::uint64_t before = (bits & 1) | (bits & 2) << 1 | (bits & 4) << 2 | (bits & 8) << 3 |
                                 (bits & 16) << 3 | (bits & 32) << 6;
    std::uint64_t after;
    asm volatile(
        "push %1\npopfq\nxbegin 1f\n"
        "cmp %%eax, %%eax\nsub $1, %%eax\nadd $1, %%eax\nstc\n"
        "xabort $1\n"
        "1: pushfq\npop %0"
        : "=&r"(after)
        : "r"(before | 2)
        : "rax", "memory", "cc");
    if ((after & 0x8d5) != before) return seen("flags %#lx became %#lx", before, after & 0x8d5);
  }
  return nullptr;
}

/// CLD and STD may abort by themselves; either way DF comes back.
const char* direction_flag() {
  std::uint64_t set, clear;
  asm volatile(
      "std\nxbegin 1f\ncld\nxabort $1\n1: pushfq\npop %0\n"
      "cld\nxbegin 2f\nstd\nxabort $1\n2: pushfq\npop %1\ncld"
      : "=&r"(set), "=&r"(clear)
      :
      : "rax", "memory", "cc");
  return (set & 0x400) != 0 && (clear & 0x400) == 0 ? nullptr
                                                    : seen("DF %lx %lx", set & 0x400, clear & 0x400);
}

[[gnu::target("avx2")]] const char* vectors() {
  alignas(32) static unsigned char before[16][32], after[16][32];
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned b = 0; b < 32; ++b) before[r][b] = static_cast<unsigned char>(16 * r + b + 1);
  asm volatile(
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "vmovdqa 32*\\n(%0), %%ymm\\n\n.endr\n"
      "xbegin 1f\n"
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7\nvpcmpeqd %%ymm\\n, %%ymm\\n, %%ymm\\n\n.endr\n"
      ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\nxorps %%xmm\\n, %%xmm\\n\n.endr\n"
      "xabort $1\n"
      "1:\n"
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "vmovdqa %%ymm\\n, 32*\\n(%1)\n.endr\n"
      "vzeroupper"
      :
      : "r"(before), "r"(after)
      : "rax", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned b = 0; b < 32; ++b)
      if (before[r][b] != after[r][b]) return seen("byte %u of YMM%u is %#x", b, r, after[r][b]);
  return nullptr;
}

const char* mxcsr() {
  const std::uint32_t before = 0x7fbf;  // rounds towards zero, all exceptions masked and some seen
  std::uint32_t after, standard = 0x1f80, other = 0x3f80;
  asm volatile("ldmxcsr %1\nxbegin 1f\nldmxcsr %2\nxabort $1\n1: stmxcsr %0\nldmxcsr %3"
               : "=m"(after)
               : "m"(before), "m"(other), "m"(standard)
               : "rax", "memory");
  return after == before ? nullptr : seen("MXCSR %#x", after);
}

/// The x87 unit: its registers are restored.
const char* x87() {
  std::uint16_t before = 0x0f7f, after = 0, nearest = 0x037f, status = 0;
  double value = 0;
  asm volatile(
      "fninit\nfldcw %3\nfldpi\nxbegin 1f\nfldcw %4\nfld1\nfaddp\nxabort $1\n"
      "1: fnstcw %0\nfnstsw %1\nfstpl %2\nfninit"
      : "=m"(after), "=m"(status), "=m"(value)
      : "m"(before), "m"(nearest)
      : "rax", "memory", "cc", "st");
  const unsigned top = status >> 11 & 7;
  return (after & 0xf3f) == (before & 0xf3f) && top == 7 && value > 3.14159 && value < 3.1416
             ? nullptr
             : seen("control %#x, top %u, ST(0) %f", after, top, value);
}

/// Two pages of known bytes; `attempt` changes them in a transaction that it aborts.
template <class Attempt>
const char* memory_after_attempts(Attempt attempt) {
  static unsigned char* const bytes = static_cast<unsigned char*>(
      mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (unsigned i = 0; i < 2 * 4096; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  bool explicitly = false;
  for (int i = 0; i < 20; ++i) {
    const Status status = attempt(bytes);
    explicitly = explicitly || status.has_code(1);
    for (unsigned k = 0; k < 2 * 4096; ++k)
      if (bytes[k] != static_cast<unsigned char>(k * 7 + k / 256)) return seen("byte %u is %#x", k, bytes[k]);
  }
  return explicitly ? nullptr : "the transaction never came to its XABORT";
}

template <class Change>
const char* memory_after(Change change) {
  return memory_after_attempts([&](unsigned char* bytes) {
    const Status status = Rtm::begin();
    if (status.started()) {
      change(bytes);
      Rtm::abort<1>();
    }
    return status;
  });
}

const char* one_byte() {
  return memory_after([](volatile unsigned char* bytes) { bytes[777] = 0; });
}
const char* across_lines_and_pages() {
  return memory_after([](unsigned char* bytes) {
    asm volatile("movq $0, 61(%0)\nmovq $0, 4093(%0)" ::"r"(bytes) : "memory");
  });
}
const char* vector_stores() {
  return memory_after([](unsigned char* bytes) {
    asm volatile("pxor %%xmm0, %%xmm0\nmovups %%xmm0, 5(%0)\nmovups %%xmm0, 4090(%0)" ::"r"(bytes)
                 : "memory", "xmm0");
  });
}
const char* string_stores() {
  return memory_after([](unsigned char* bytes) {
    void* to = bytes + 100;
    std::uint64_t count = 5000;
    asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
    const void* from = bytes + 3000;
    to = bytes + 10, count = 70;
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  });
}
/// Downwards from an address above which the transaction has written, so that the undo log knows only the
/// bytes above. STD in a transaction aborts it, so the direction is set before.
const char* string_stores_backwards() {
  return memory_after_attempts([](unsigned char* bytes) {
    Status status;
    void* to = bytes + 2000;
    std::uint64_t count = 1500;
    unsigned char* upwards = bytes + 2000;
    asm volatile(
        "std\nmov $-1, %%eax\nxbegin 1f\n"
        "2: movb $0, (%3)\nadd $32, %3\ncmp %4, %3\njb 2b\n"
        "rep stosb\nxabort $1\n"
        "1: cld"
        : "=&a"(status.raw), "+D"(to), "+c"(count), "+r"(upwards)
        : "r"(bytes + 5000)
        : "memory", "cc");
    return status;
  });
}
const char* locked_stores() {
  return memory_after([](unsigned char* bytes) {
    asm volatile(
        "lock addl $5, 64(%0)\nlock orb $255, 131(%0)\nmov $3, %%ecx\nxchg %%ecx, 200(%0)" ::"r"(bytes)
        : "memory", "cc", "rcx");
  });
}
/// Instructions that load from one place and store to another.
const char* stores_beside_loads() {
  return memory_after([](unsigned char* bytes) {
    const void* from = bytes + 8;
    void* to = bytes + 512;
    asm volatile(
        "movsq\n"
        "mov %%rsp, %%r8\nlea 1024(%2), %%rsp\npushq 16(%2)\nmov %%r8, %%rsp\n"
        "lea 1536(%2), %%rsp\npopq 2048(%2)\nmov %%r8, %%rsp"
        : "+S"(from), "+D"(to)
        : "r"(bytes)
        : "memory", "r8");
  });
}
const char* pushes() {
  std::uint64_t below[2];
  asm volatile(
      "movq $111, -8(%%rsp)\nmovq $222, -16(%%rsp)\n"
      "xbegin 1f\npush %%rax\ncall 2f\nxabort $1\n2: xabort $1\n"
      "1: mov -8(%%rsp), %0\nmov -16(%%rsp), %1"
      : "=&r"(below[0]), "=&r"(below[1])
      :
      : "rax", "memory");
  return below[0] == 111 && below[1] == 222 ? nullptr : seen("below RSP: %lu, %lu", below[0], below[1]);
}
const char* own_writes_are_seen() {
  static volatile std::uint64_t word;
  for (int i = 0; i < kTries; ++i) {
    word = 5;
    std::uint64_t inside = 0;
    if (!Rtm::begin().started()) continue;
    word = 6;
    inside = word;
    Rtm::commit();
    return inside == 6 && word == 6 ? nullptr : seen("inside %lu, behind %lu", inside, word);
  }
  return "no transaction commits";
}

const Case kCases[] = {
    {"all general registers, RSP too", "17.3.1.2", Where::kEverywhere, general_registers},
    {"all arithmetic flags", "17.3.1.2", Where::kEverywhere, flags},
    {"the direction flag", "17.3.1.2", Where::kEverywhere, direction_flag},
    {"all YMM registers", "17.3.1.2", Where::kEverywhere, vectors},
    {"MXCSR", "17.3.1.2", Where::kEverywhere, mxcsr},
    {"the x87 unit", "17.3.1.2", Where::kEverywhere, x87},
    {"a byte, and those around it", "17.3.1.2", Where::kEverywhere, one_byte},
    {"stores across lines and pages", "17.3.1.2", Where::kEverywhere, across_lines_and_pages},
    {"vector stores", "17.3.1.2", Where::kEverywhere, vector_stores},
    {"string stores", "17.3.1.2", Where::kEverywhere, string_stores},
    {"string stores, backwards", "17.3.1.2", Where::kEverywhere, string_stores_backwards},
    {"locked stores", "17.3.1.2", Where::kEverywhere, locked_stores},
    {"stores of instructions that load too", "17.3.1.2", Where::kEverywhere, stores_beside_loads},
    {"pushes and calls", "17.3.1.2", Where::kEverywhere, pushes},
    {"a transaction sees its own writes", "17.3.1.2", Where::kEverywhere, own_writes_are_seen},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
