// SPDX-License-Identifier: Apache-2.0
// perf_event_open: loads and stores, and samples with their addresses. With "accesses": makes the
// accesses alone. With other arguments: executes a program while its accesses are sampled.
#define _GNU_SOURCE
#include "event_rings.h"

enum { kLoad = 0x81d0, kStore = 0x82d0 };
enum { kSteps = 1000, kPeriod = 10 };

/// In each step one load, one store, and one instruction that does both, each 8 bytes further than in the
/// step before. Each lies between an instruction that sets a flag and one that reads it, so that a count that
/// changes flags ends at UD2.
void run_accesses(uint64_t* loaded, uint64_t* stored, uint64_t* changed, uint64_t steps);
__asm__(
    ".text\n"
    "run_accesses: stc\n"
    "load_here: mov (%rdi), %rax\n"
    " jnc 9f\n"
    " clc\n"
    "store_here: mov %rax, (%rsi)\n"
    " jc 9f\n"
    " stc\n"
    "change_here: incq (%rdx)\n"
    " jnc 9f\n"
    " lea 8(%rdi), %rdi\n"
    " lea 8(%rsi), %rsi\n"
    " lea 8(%rdx), %rdx\n"
    " dec %rcx\n"
    " jnz run_accesses\n"
    " ret\n"
    "9: ud2\n");
extern char load_here[], store_here[], change_here[];

/// A transaction of many stores, which commits if nothing interrupts it. Returns its status.
unsigned run_stores_in_transaction(uint64_t* stored);
__asm__(
    ".text\n"
    "run_stores_in_transaction: mov $-1, %eax\n"
    " mov $500, %ecx\n"
    " xbegin 9f\n"
    "1:\n"
    "transactional_store: mov %rcx, (%rdi)\n"
    " dec %ecx\n"
    " jnz 1b\n"
    " xend\n"
    "9: ret\n");
extern char transactional_store[];

static uint64_t loaded[kSteps], stored[kSteps], changed[kSteps];
static __thread uint64_t of_thread = 1;
static char record[1 << 16];

struct sample {
  uint64_t pc, address, source;
};

static struct perf_event_attr of_accesses(unsigned code, uint64_t period, unsigned precise) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, code);
  attr.sample_period = period;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
  attr.precise_ip = precise;
  attr.disabled = 1;
  return attr;
}

static int next_sample(struct ring* ring, struct sample* sample) {
  if (next_record(ring, record) != PERF_RECORD_SAMPLE) return 0;
  memcpy(sample, record + 8, sizeof *sample);
  return 1;
}

/// The count includes that of the calls between enabling and disabling.
static uint64_t counted(int event, uint64_t steps) {
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  ioctl(event, PERF_EVENT_IOC_RESET, 0);
  ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  if (steps != 0) run_accesses(loaded, stored, changed, steps);
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  return count_of(event);
}

static void test_counts(void) {
  const unsigned codes[] = {kLoad, kStore};
  for (unsigned i = 0; i < 2; ++i) {
    const int event = open_counter(PERF_TYPE_RAW, codes[i]);
    const uint64_t of_calls = counted(event, 1), more = counted(event, kSteps);
    EXPECT_EQUAL(more - of_calls, 2 * (kSteps - 1));
    EXPECT(of_calls >= 3 && of_calls < 200);
    close(event);
  }
}

/// Counting takes no virtual time.
static void test_time(void) {
  const int cycles = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  (void)counted(cycles, kSteps);
  const uint64_t alone = counted(cycles, kSteps);
  const int loads = open_counter(PERF_TYPE_RAW, kLoad), stores = open_counter(PERF_TYPE_RAW, kStore);
  (void)counted(cycles, kSteps);
  const uint64_t beside = counted(cycles, kSteps);
  EXPECT(beside < alone + alone / 50 && alone < beside + beside / 50);
  EXPECT(count_of(loads) >= 4 * kSteps);
  close(loads), close(stores), close(cycles);
}

static int is_word_of(uint64_t address, const uint64_t* words) {
  const uint64_t from = (uint64_t)words;
  return address >= from && address < from + sizeof loaded && (address - from) % sizeof *words == 0;
}

/// Every tenth access is shown, with its instruction and its address.
static void test_addresses(unsigned code, const char* one_here, const uint64_t* words) {
  struct perf_event_attr attr = of_accesses(code, kPeriod, 2);
  struct ring ring = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
  ioctl(ring.event, PERF_EVENT_IOC_ENABLE, 0);
  run_accesses(loaded, stored, changed, kSteps);
  ioctl(ring.event, PERF_EVENT_IOC_DISABLE, 0);
  struct sample sample;
  unsigned ones = 0, changes = 0, others = 0;
  uint64_t before = 0;
  while (next_sample(&ring, &sample)) {
    EXPECT((((struct perf_event_header*)record)->misc & PERF_RECORD_MISC_EXACT_IP) != 0);
    EXPECT_EQUAL(sample.source & 0x1f, code == kLoad ? PERF_MEM_OP_LOAD : PERF_MEM_OP_STORE);
    if (sample.pc == (uint64_t)one_here) {
      EXPECT(is_word_of(sample.address, words));
      ++ones;
    } else if (sample.pc == (uint64_t)change_here) {
      EXPECT(is_word_of(sample.address, changed));
      ++changes;
    } else {
      ++others;
      continue;
    }
    if (before != 0) EXPECT_EQUAL(sample.address - before, kPeriod / 2 * 8);
    before = sample.address;
  }
  // Every second access is of one of the two instructions, and the period is even: all are of one of them.
  EXPECT((ones == 0) != (changes == 0));
  EXPECT(ones + changes >= 2 * kSteps / kPeriod - 2 && ones + changes <= 2 * kSteps / kPeriod + 2);
  EXPECT(others <= 20);
  unmap(&ring);
}

/// With a period of one the first access of each block is shown, and the program goes on.
static void test_each(void) {
  struct perf_event_attr attr = of_accesses(kLoad, 1, 2);
  struct ring ring = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
  uint64_t value;
  ioctl(ring.event, PERF_EVENT_IOC_ENABLE, 0);
  run_accesses(loaded, stored, changed, 1);
  __asm__ volatile("mov %%fs:0, %0" : "=r"(value));
  of_thread += value;
  ioctl(ring.event, PERF_EVENT_IOC_DISABLE, 0);
  struct sample sample;
  unsigned loads = 0, changes = 0, of_thread_pointer = 0;
  while (next_sample(&ring, &sample)) {
    loads += sample.pc == (uint64_t)load_here && sample.address == (uint64_t)loaded;
    changes += sample.pc == (uint64_t)change_here && sample.address == (uint64_t)changed;
    of_thread_pointer += sample.address == value;  // the thread pointer points to itself
  }
  EXPECT_EQUAL(loads, 1);
  EXPECT_EQUAL(changes, 1);
  EXPECT(of_thread_pointer >= 1);
  unmap(&ring);
}

/// Without precision there is an interrupt, but no address.
static void test_imprecise(void) {
  struct perf_event_attr attr = of_accesses(kStore, 100, 0);
  struct ring ring = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
  ioctl(ring.event, PERF_EVENT_IOC_ENABLE, 0);
  run_accesses(loaded, stored, changed, kSteps);
  ioctl(ring.event, PERF_EVENT_IOC_DISABLE, 0);
  struct sample sample;
  unsigned samples = 0;
  for (; next_sample(&ring, &sample); ++samples) {
    EXPECT_EQUAL(sample.address, 0);
    EXPECT_EQUAL(sample.source & 0x1f, PERF_MEM_OP_NA);
  }
  EXPECT(samples >= 2 * kSteps / 100 - 1);
  unmap(&ring);
}

/// The interrupt ends the transaction, and the sample shows its store.
static void test_in_transaction(void) {
  enum { kTries = 20 };
  struct perf_event_attr attr = of_accesses(kStore, 200, 2);
  struct ring ring = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
  uint64_t word = 0;
  EXPECT_EQUAL(run_stores_in_transaction(&word), ~0u);
  ioctl(ring.event, PERF_EVENT_IOC_ENABLE, 0);
  unsigned aborted = 0;
  for (int i = 0; i < kTries; ++i) {
    word = 0;
    if (run_stores_in_transaction(&word) == ~0u) continue;
    ++aborted;
    EXPECT_EQUAL(word, 0);
  }
  ioctl(ring.event, PERF_EVENT_IOC_DISABLE, 0);
  EXPECT_EQUAL(aborted, kTries);
  struct sample sample;
  unsigned shown = 0;
  while (next_sample(&ring, &sample)) {
    if (sample.pc != (uint64_t)transactional_store) continue;
    EXPECT_EQUAL(sample.address, (uint64_t)&word);
    ++shown;
  }
  EXPECT(shown >= aborted - 1);
  unmap(&ring);
}

/// Executes a program, which inherits events of both kinds that interrupt it often.
static int execute(char** words) {
  for (unsigned code = kLoad; code <= kStore; code += kStore - kLoad) {
    struct perf_event_attr attr = of_accesses(code, 997, 2);
    attr.inherit = attr.enable_on_exec = 1;
    if (open_event(&attr, 0, -1, -1, 0) < 0) return 2;
  }
  execv(words[0], words);
  return 2;
}

int main(int count, char** words) {
  if (count > 1 && strcmp(words[1], "accesses") == 0) return run_accesses(loaded, stored, changed, kSteps), 0;
  if (count > 1) return execute(words + 1);
  test_counts();
  test_time();
  test_addresses(kLoad, load_here, loaded);
  test_addresses(kStore, store_here, stored);
  test_each();
  test_imprecise();
  test_in_transaction();
  return failures == 0 ? 0 : 1;
}
