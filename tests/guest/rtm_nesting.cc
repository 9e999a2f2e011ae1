// SPDX-License-Identifier: Apache-2.0
// Transactions inside transactions.
//
// The limit is the machine's. ELISION_NESTING_LIMIT in the environment gives the expected one; the default is
// 7 (measured on a Sapphire Rapids; the manual does not say).
#include <cstdlib>

#include "rtm_rules.h"

namespace {

using namespace rules;

[[gnu::always_inline]] inline void nest() { asm volatile("xbegin 1f\n1:" ::: "memory"); }

unsigned expected_limit() {
  const char* given = std::getenv("ELISION_NESTING_LIMIT");
  return given == nullptr ? 7 : static_cast<unsigned>(std::atoi(given));
}

/// The status of a transaction of `depth` nested XBEGINs.
Status nested(unsigned depth) {
  Status status;
  for (int i = 0; i < kTries; ++i) {
    status = Rtm::begin();
    if (!status.started()) continue;
    for (unsigned k = 1; k < depth; ++k) nest();
    for (unsigned k = 0; k < depth; ++k) Rtm::commit();
    return status;
  }
  return status;
}

const char* limit() {
  const unsigned most = expected_limit();
  if (const Status status = nested(most); !status.started()) return seen("%u deep: %#x", most, status.raw);
  Status beyond = nested(most + 1);
  for (int i = 0; i < 10 && beyond.raw == 0; ++i) beyond = nested(most + 1);  // an interrupt came last
  return beyond.raw == Status::kNestedBit ? nullptr : seen("%u deep: %#x", most + 1, beyond.raw);
}

alignas(4096) volatile std::uint64_t words[512];

/// The inner XEND commits nothing: an abort of the outer transaction undoes the stores.
const char* inner_end_commits_nothing() {
  for (int i = 0; i < kTries; ++i) {
    words[0] = 1;
    words[64] = 1;
    const Status status = Rtm::begin();
    if (status.started()) {
      words[0] = 2;
      nest();
      words[64] = 3;
      Rtm::commit();
      if (!Rtm::in_transaction()) return "XTEST behind the inner XEND says outside";
      Rtm::abort<7>();
    }
    if (words[0] != 1 || words[64] != 1) return seen("memory is %lu, %lu", words[0], words[64]);
    if (status.has_code(7)) return status.raw == 0x07000001 ? nullptr : seen("status %#x", status.raw);
  }
  return "XABORT never gave its status";
}

/// An inner abort goes to the outermost fallback with the registers of the outermost XBEGIN, bit 5 set.
const char* inner_abort_ends_all() {
  for (int i = 0; i < kTries; ++i) {
    words[0] = 1;
    std::uint64_t rbx = 11, inner = 0, rax = ~std::uint64_t{0};
    asm volatile(
        "xbegin 2f\n"
        "mov $22, %%ebx\n"
        "movq $2, %3\n"
        "xbegin 1f\n"
        "mov $33, %%ebx\n"
        "xabort $5\n"
        "1: mov $1, %1\n"
        "2:"
        : "+b"(rbx), "+r"(inner), "+a"(rax), "+m"(words[0])
        :
        : "memory", "cc");
    if (inner != 0) return "the inner fallback was taken";
    if (rbx != 11 || words[0] != 1) return seen("RBX %lu, memory %lu", rbx, words[0]);
    const auto status = static_cast<std::uint32_t>(rax);
    if ((status & 1) == 0) continue;
    return status == (5u << 24 | Status::kExplicitBit | Status::kNestedBit) ? nullptr
                                                                            : seen("status %#x", status);
  }
  return "XABORT never gave its status";
}

const char* inner_begin_keeps_rax() {
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t rax = 0x77665544332211, inside = 0;
    asm volatile("xbegin 1f\nxbegin 1f\nmov %%rax, %1\nxend\nxend\n1:"
                 : "+a"(rax), "+r"(inside)
                 :
                 : "memory");
    if (rax != 0x77665544332211) continue;
    return inside == rax ? nullptr : seen("RAX %#lx", inside);
  }
  return "no transaction commits";
}

const char* nested_bit_of_other_causes() {
  std::uint32_t status = 0;
  unsigned behind = 0;  // aborts by XABORT
  for (int i = 0; i < 100; ++i) {
    RULES_TRANSACTION(status, nullptr, "xbegin 1f\nud2\nxend");
    if (status != Status::kNestedBit && status != 0) return seen("a fault: %#x", status);
    RULES_TRANSACTION(status, nullptr, "xbegin 1f\nxend\nxabort $3");
    behind += status == 0x03000001;
    // An interrupt gives 0, or the bit where it came into the inner one.
    if (status != 0x03000001 && status != 0 && status != Status::kNestedBit)
      return seen("XABORT behind the inner XEND: %#x", status);
  }
  if (behind < 50) return seen("XABORT behind the inner XEND gave its status %u times of 100", behind);
  status = 0;
  for (int i = 0; i < kTries && status == 0; ++i)  // which an interrupt gives too
    RULES_TRANSACTION(status, nullptr, "xbegin 1f\nud2\nxend");
  return status == Status::kNestedBit ? nullptr : seen("a fault: %#x", status);
}

/// Each XEND ends one level only.
const char* levels_count() {
  for (int i = 0; i < kTries; ++i) {
    words[0] = 0;
    const Status status = Rtm::begin();
    if (!status.started()) continue;
    nest(), nest();
    Rtm::commit();
    const bool second = Rtm::in_transaction();
    Rtm::commit();
    const bool first = Rtm::in_transaction();
    Rtm::commit();
    const bool none = Rtm::in_transaction();
    return second && first && !none ? nullptr : seen("inside: %d %d %d", second, first, none);
  }
  return "no transaction commits";
}

const Case kCases[] = {
    {"nesting up to the limit commits, beyond it aborts", "17.3.4.2", Where::kEverywhere, limit},
    {"each XEND ends one level", "17.3.4.2", Where::kEverywhere, levels_count},
    {"an inner XEND commits nothing", "17.3.4.2", Where::kEverywhere, inner_end_commits_nothing},
    {"an inner abort ends the outermost transaction", "17.3.4.2", Where::kEverywhere, inner_abort_ends_all},
    {"an inner XBEGIN leaves RAX untouched", "Vol. 2 XBEGIN", Where::kEverywhere, inner_begin_keeps_rax},
    {"bit 5 tells of an abort inside a nested one", "17.3.5", Where::kEverywhere, nested_bit_of_other_causes},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
