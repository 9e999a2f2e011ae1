// SPDX-License-Identifier: Apache-2.0
// perf_event_open: branch stacks. With arguments: executes a program while its branches are recorded.
#define _GNU_SOURCE
#include "event_rings.h"

/// Aborts with XABORT 0x5a after branches of each kind. Each uses flags of an instruction before a branch, so
/// that a record that changes flags takes another path, which ends at UD2.
unsigned run_branches(void);
__asm__(
    ".text\n"
    "run_branches: mov $-1, %eax\n"
    " xbegin 9f\n"
    "direct_call: call callee\n"
    "behind_direct_call: lea indirect_target(%rip), %rdx\n"
    " stc\n"
    "indirect_jump: jmp *%rdx\n"
    " ud2\n"
    "indirect_target: jnc wrong\n"
    "conditional_jump: jc conditional_target\n"
    "wrong: ud2\n"
    "conditional_target: cmp %eax, %eax\n"
    "direct_jump: jmp direct_target\n"
    " ud2\n"
    "direct_target: jne wrong\n"
    " mov $1, %ecx\n"
    " jrcxz wrong\n"
    " xor %ecx, %ecx\n"
    "short_jump: jrcxz short_target\n"
    " ud2\n"
    "short_target: lea callee(%rip), %rdx\n"
    "indirect_call: call *%rdx\n"
    "behind_indirect_call: jnz wrong\n"
    "abort: xabort $0x5a\n"
    "9: ret\n"
    "callee: cmp %edx, %edx\n"
    "return: ret\n");
extern char run_branches_of[] __asm__("run_branches");
extern char direct_call[], behind_direct_call[], indirect_jump[], indirect_target[], conditional_jump[],
    conditional_target[], direct_jump[], direct_target[], short_jump[], short_target[], indirect_call[],
    behind_indirect_call[], abort_here[] __asm__("abort"), callee[], return_here[] __asm__("return");

struct expected {
  const char *from, *to;  // NULL: any
  unsigned type;
};
/// The newest first.
static const struct expected kAll[] = {
    {abort_here, NULL, PERF_BR_UNKNOWN},           {return_here, behind_indirect_call, PERF_BR_RET},
    {indirect_call, callee, PERF_BR_IND_CALL},     {short_jump, short_target, PERF_BR_COND},
    {direct_jump, direct_target, PERF_BR_UNCOND},  {conditional_jump, conditional_target, PERF_BR_COND},
    {indirect_jump, indirect_target, PERF_BR_IND}, {return_here, behind_direct_call, PERF_BR_RET},
    {direct_call, callee, PERF_BR_CALL},
};
enum { kExpected = sizeof kAll / sizeof kAll[0] };

static char record[1 << 16];
static uint64_t depth;

static void read_depth(void) {
  FILE* const file = fopen("/sys/bus/event_source/devices/cpu/caps/branches", "r");
  unsigned value = 0;
  const int found = file != NULL && fscanf(file, "%u", &value) == 1;
  EXPECT(found && (value == 16 || value == 32));
  if (file != NULL) fclose(file);
  depth = value;
}

static struct perf_event_attr of_branches(uint64_t choice) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, kAbort);
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_TRANSACTION;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | choice;
  return attr;
}

static int is_wanted(unsigned type, uint64_t choice) {
  switch (type) {
    case PERF_BR_UNKNOWN:
      return (choice & (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ABORT_TX)) != 0;
    case PERF_BR_RET:
      return (choice & (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_RETURN)) != 0;
    case PERF_BR_IND_CALL:
      return (choice &
              (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL)) != 0;
    case PERF_BR_CALL:
      return (choice & (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_CALL)) != 0;
    case PERF_BR_COND:
      return (choice & (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_COND)) != 0;
    case PERF_BR_IND:
      return (choice & (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_IND_JUMP)) != 0;
    default:
      return (choice & PERF_SAMPLE_BRANCH_ANY) != 0;
  }
}

/// Compares the newest entries with the branches of run_branches() that are chosen.
static void expect_stack(const uint64_t* words, uint64_t choice) {
  const uint64_t count = words[0];
  const struct perf_branch_entry* entry = (const struct perf_branch_entry*)(words + 1);
  EXPECT(count <= depth);
  uint64_t at = 0;
  for (unsigned i = 0; i < kExpected; ++i) {
    const struct expected* const one = &kAll[i];
    if (!is_wanted(one->type, choice)) continue;
    EXPECT(at < count);
    if (at >= count) return;
    EXPECT_EQUAL(entry[at].from, (uint64_t)one->from);
    EXPECT(one->to == NULL || entry[at].to == (uint64_t)one->to);
    EXPECT_EQUAL(entry[at].type, (choice & PERF_SAMPLE_BRANCH_TYPE_SAVE) != 0 ? one->type : 0);
    EXPECT_EQUAL(entry[at].in_tx, (choice & PERF_SAMPLE_BRANCH_NO_FLAGS) == 0);
    EXPECT_EQUAL(entry[at].abort, i == 0 && (choice & PERF_SAMPLE_BRANCH_NO_FLAGS) == 0);
    ++at;
  }
  if ((choice & PERF_SAMPLE_BRANCH_ANY) == 0) return;
  EXPECT_EQUAL(count, depth);
  EXPECT(!entry[at].in_tx);
  EXPECT_EQUAL(entry[at].to, (uint64_t)run_branches_of);
}

/// Each choice of branches.
static void test_kinds(void) {
  static const uint64_t kKinds[] = {
      PERF_SAMPLE_BRANCH_ANY,
      PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_ABORT_TX,
      PERF_SAMPLE_BRANCH_CALL,
      PERF_SAMPLE_BRANCH_IND_CALL,
      PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP,
      PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_FLAGS,
  };
  for (unsigned i = 0; i < 2 * sizeof kKinds / sizeof kKinds[0]; ++i) {
    const uint64_t choice = kKinds[i / 2] | (i % 2 != 0 ? PERF_SAMPLE_BRANCH_TYPE_SAVE : 0);
    struct perf_event_attr attr = of_branches(choice);
    struct ring ring = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
    for (int repeat = 0; repeat < 3; ++repeat) {
      work(100);
      EXPECT_EQUAL(run_branches(), 0x5a000001u);
    }
    unsigned samples = 0;
    while (next_record(&ring, record) == PERF_RECORD_SAMPLE) {
      expect_stack((const uint64_t*)(record + 8), choice);
      ++samples;
    }
    EXPECT_EQUAL(samples, 3);
    unmap(&ring);
  }
}

/// IN_TX leaves the branches of transactions, NO_TX the others.
static void test_transactions(void) {
  for (int inside = 0; inside < 2; ++inside) {
    struct perf_event_attr attr = of_branches(PERF_SAMPLE_BRANCH_ANY_CALL |
                                              (inside ? PERF_SAMPLE_BRANCH_IN_TX : PERF_SAMPLE_BRANCH_NO_TX));
    struct ring ring = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
    EXPECT_EQUAL(run_branches(), 0x5a000001u);
    EXPECT_EQUAL(next_record(&ring, record), PERF_RECORD_SAMPLE);
    const uint64_t* const words = (const uint64_t*)(record + 8);
    const struct perf_branch_entry* const entry = (const struct perf_branch_entry*)(words + 1);
    EXPECT(words[0] > 0);
    for (uint64_t i = 0; i < words[0]; ++i) EXPECT_EQUAL(entry[i].in_tx, inside);
    if (inside) {
      EXPECT_EQUAL(words[0], 2);
      EXPECT_EQUAL(entry[1].from, (uint64_t)direct_call);
    } else {
      EXPECT_EQUAL(entry[0].to, (uint64_t)run_branches_of);
    }
    unmap(&ring);
  }
}

static int open_with(uint64_t choice, unsigned type, unsigned long long config) {
  struct perf_event_attr attr = of_branches(choice);
  attr.type = type;
  attr.config = config;
  const int event = open_event(&attr, 0, -1, -1, 0);
  if (event >= 0) close(event);
  return event < 0 ? event : 0;
}

static void test_refused(void) {
  EXPECT_EQUAL(open_with(PERF_SAMPLE_BRANCH_ANY, PERF_TYPE_RAW, kAbort), 0);
  EXPECT_EQUAL(open_with(0, PERF_TYPE_RAW, kAbort), -EINVAL);
  EXPECT_EQUAL(open_with(1ull << 40, PERF_TYPE_RAW, kAbort), -EINVAL);
  EXPECT_EQUAL(open_with(PERF_SAMPLE_BRANCH_CALL_STACK, PERF_TYPE_RAW, kAbort), -EOPNOTSUPP);
  EXPECT_EQUAL(open_with(PERF_SAMPLE_BRANCH_ANY, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK), -EOPNOTSUPP);
}

/// Executes a program, which inherits an event that interrupts it often.
static int execute(char** words) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  attr.sample_period = 5000;
  attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  attr.inherit = 1;
  attr.disabled = attr.enable_on_exec = 1;
  if (open_event(&attr, 0, -1, -1, 0) < 0) return 2;
  execv(words[0], words);
  return 2;
}

int main(int count, char** words) {
  if (count > 1) return execute(words + 1);
  read_depth();
  run_branches();  // takes page faults
  test_kinds();
  test_transactions();
  test_refused();
  if (failures == 0) puts("ok");
  return failures != 0;
}
