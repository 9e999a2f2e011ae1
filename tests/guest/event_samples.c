// SPDX-License-Identifier: Apache-2.0
// perf_event_open: samples in a ring buffer, overflow signals, and what an interrupt does to a transaction.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "event_rings.h"

extern char aborting_instruction[];

static char record[1 << 16];

static __attribute__((noinline, noclone)) void long_work(unsigned long steps) {
  __asm__ volatile(".globl loop_begin, loop_end\nloop_begin: dec %0\n jnz loop_begin\nloop_end:"
                   : "+r"(steps)
                   :
                   : "cc");
}
extern char loop_begin[], loop_end[];
static int is_in_loop(uint64_t ip) { return ip >= (uint64_t)loop_begin && ip < (uint64_t)loop_end; }

static void test_periods(unsigned type, unsigned long long config, unsigned long period, unsigned long steps,
                         unsigned expected) {
  struct perf_event_attr attr = attributes(type, config);
  attr.sample_period = period;
  attr.sample_type =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
  attr.disabled = 1;
  const int event = open_event(&attr, 0, -1, -1, 0);
  EXPECT(event >= 0);
  struct ring ring = map_ring(event, kDataPages);
  ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  long_work(steps);
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  const uint64_t count = count_of(event);
  unsigned samples = 0, inside = 0;
  uint64_t before = 0;
  while (next_record(&ring, record) != 0) {
    struct {
      struct perf_event_header header;
      uint64_t ip;
      uint32_t pid, tid;
      uint64_t time;
      uint32_t cpu, reserved;
      uint64_t period;
    } sample;
    memcpy(&sample, record, sizeof sample);
    EXPECT_EQUAL(sample.header.type, PERF_RECORD_SAMPLE);
    EXPECT_EQUAL(sample.header.size, sizeof sample);
    EXPECT_EQUAL(sample.header.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
    EXPECT_EQUAL(sample.pid, getpid());
    EXPECT_EQUAL(sample.tid, syscall(SYS_gettid));
    EXPECT_EQUAL(sample.period, period);
    EXPECT(sample.time > before);
    before = sample.time;
    ++samples;
    inside += (unsigned)is_in_loop(sample.ip);
  }
  EXPECT(samples >= expected);
  EXPECT(samples <= count / period && samples + 2 >= count / period);
  EXPECT(inside + 2 >= samples);
  unmap(&ring);
}

static void test_frequency(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  attr.freq = 1;
  attr.sample_freq = 10000;
  attr.sample_type = PERF_SAMPLE_IP;
  const int event = open_event(&attr, 0, -1, -1, 0);
  struct ring ring = map_ring(event, kDataPages);
  long_work(20000000);
  const uint64_t expected = count_of(event) / 100000;  // one in 100 microseconds
  unsigned samples = 0;
  while (next_record(&ring, record) != 0) ++samples;
  EXPECT(expected > 20 && samples > expected / 2 && samples < expected * 2);
  unmap(&ring);
}

/// The ring is too small for what happens: the rest is counted as lost, and records wrap around.
static void test_losses(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 20000;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;  // 24 bytes, which do not divide the ring
  attr.read_format = PERF_FORMAT_LOST;
  const int event = open_event(&attr, 0, -1, -1, 0);
  struct ring ring = map_ring(event, 1);
  unsigned samples = 0, reported = 0;
  for (int round = 0; round < 3; ++round) {
    long_work(8000000);
    for (int type; (type = next_record(&ring, record)) != 0;) {
      if (type == PERF_RECORD_SAMPLE) ++samples;
      uint64_t lost = 0;
      memcpy(&lost, record + 16, sizeof lost);
      if (type == PERF_RECORD_LOST) reported += lost;
      EXPECT(type == PERF_RECORD_SAMPLE || type == PERF_RECORD_LOST);
    }
  }
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  uint64_t values[2];
  EXPECT_EQUAL(read(event, values, sizeof values), sizeof values);
  EXPECT(samples >= 2 * 160 && reported > 100);
  EXPECT(values[1] >= reported && samples + values[1] + 2 >= values[0] / attr.sample_period);
  unmap(&ring);
}

/// The frame of a function that calls none may be missing: long_work has none.
static __attribute__((noinline, noclone)) void inner(void) {
  long_work(300000);
  __asm__ volatile("" : : : "memory");
}
static __attribute__((noinline, noclone)) void called(void) {
  inner();
  __asm__ volatile("" : : : "memory");
}

/// Call chain, registers, stack, and what an ordinary sample says of transactions, memory and branches.
static void test_all_fields(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 100000;
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK |
                     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
                     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  attr.sample_regs_user = 1u << 7 | 1u << 8;  // SP, IP
  attr.sample_stack_user = 64;
  const int event = open_event(&attr, 0, -1, -1, 0);
  EXPECT(event >= 0);
  struct ring ring = map_ring(event, kDataPages);
  called();
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  uint64_t id = 0;
  ioctl(event, PERF_EVENT_IOC_ID, &id);
  unsigned complete = 0;
  while (next_record(&ring, record) == PERF_RECORD_SAMPLE) {
    const uint64_t* at = (const uint64_t*)(record + 8);
    const uint64_t ip = at[1];
    if (!is_in_loop(ip)) continue;
    EXPECT(at[0] == id && at[2] == 0 && at[3] == id && at[4] == id);
    const uint64_t chain = at[5];
    EXPECT(chain >= 3 && at[6] == (uint64_t)PERF_CONTEXT_USER && at[7] == ip);
    int through_call = 0;
    for (uint64_t i = 2; i < chain; ++i)
      through_call |= at[6 + i] >= (uint64_t)&called && at[6 + i] < (uint64_t)&called + 64;
    EXPECT(through_call);
    at += 6 + chain;
    const uint64_t branches = at[0];
    EXPECT(branches >= 16 && branches <= 32);
    EXPECT(is_in_loop(at[1]) && at[2] == (uint64_t)loop_begin);  // the newest
    at += 1 + 3 * branches;
    EXPECT_EQUAL(at[0], PERF_SAMPLE_REGS_ABI_64);
    const uint64_t stack_pointer = at[1];
    EXPECT(at[2] == ip);
    EXPECT_EQUAL(at[3], 64);
    EXPECT_EQUAL(at[4 + 8], 64);
    EXPECT(stack_pointer > (uint64_t)&ring - 4096 && stack_pointer < (uint64_t)&ring);
    at += 4 + 8 + 1;
    EXPECT_EQUAL(at[0], 0);  // weight
    EXPECT(at[1] != 0);      // "not available"
    EXPECT_EQUAL(at[2], 0);  // no transaction
    ++complete;
  }
  EXPECT(complete >= 2);
  unmap(&ring);
}

/// The size of a record has 16 bits: of the largest stack that an event may ask for, as many bytes are copied
/// as leave room for the other fields.
static void test_largest_stack(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 100000;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
                     PERF_SAMPLE_REGS_INTR;
  attr.sample_regs_user = 1u << 7;  // SP
  attr.sample_regs_intr = 1u << 8;  // IP
  attr.sample_stack_user = 65528;
  enum { kMost = 65528, kOthers = 8 * (1 + 1 + 2 + 2 + 1 + 2), kStack = kMost - kOthers };
  const int event = open_event(&attr, 0, -1, -1, 0);
  EXPECT(event >= 0);
  struct ring ring = map_ring(event, 128);
  long_work(300000);
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  unsigned samples = 0;
  while (next_record(&ring, record) == PERF_RECORD_SAMPLE) {
    EXPECT_EQUAL(((const struct perf_event_header*)record)->size, kMost);
    const uint64_t* const at = (const uint64_t*)(record + 8);
    EXPECT_EQUAL(at[3], kStack);
    const uint64_t* const behind = at + 4 + kStack / 8;
    EXPECT(behind[0] > 0 && behind[0] <= kStack);
    EXPECT_EQUAL(behind[1], 0);  // weight
    EXPECT_EQUAL(behind[2], PERF_SAMPLE_REGS_ABI_64);
    EXPECT_EQUAL(behind[3], at[0]);
    if (++samples == 100) break;
  }
  EXPECT(samples >= 2 && samples < 100);
  EXPECT_EQUAL(ring.page->data_tail, ring.page->data_head);
  unmap(&ring);
}

struct abort_sample {
  struct perf_event_header header;
  uint64_t ip, weight, transaction;
};

static int open_abort_event(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_RAW, kAbort);
  attr.sample_period = 1;
  attr.precise_ip = 2;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION;
  const int event = open_event(&attr, 0, -1, -1, 0);
  EXPECT(event >= 0);
  return event;
}

/// A sample of an abort names the instruction inside of the transaction, the cause and the time that it cost.
static void test_aborts(void) {
  struct ring ring = map_ring(open_abort_event(), kDataPages);
  for (int i = 0; i < 20; ++i) EXPECT_EQUAL(run_abort(), 0x5a000001u);
  unsigned samples = 0;
  struct abort_sample sample;
  while (next_record(&ring, record) != 0) {
    memcpy(&sample, record, sizeof sample);
    if ((sample.transaction & PERF_TXN_SYNC) == 0) continue;
    EXPECT((sample.header.misc & PERF_RECORD_MISC_EXACT_IP) != 0);
    EXPECT_EQUAL(sample.ip, (uint64_t)aborting_instruction);
    EXPECT_EQUAL(sample.transaction, PERF_TXN_TRANSACTION | PERF_TXN_SYNC | 0x5aull << PERF_TXN_ABORT_SHIFT);
    EXPECT(sample.weight > 0 && sample.weight < 10000);
    ++samples;
  }
  EXPECT_EQUAL(samples, 20);
  unmap(&ring);
}

static struct {
  _Alignas(64) volatile uint64_t word;
  _Alignas(64) volatile int stop, begun;
} shared;

static void* keep_storing(void* unused) {
  shared.begun = 1;
  while (!shared.stop) shared.word = shared.word + 1;
  return unused;
}

extern char reading_begin[], reading_end[];

/// A conflict with another thread's store is asynchronous. The transaction waits for it.
static void test_conflicts(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, keep_storing, NULL);
  while (!shared.begun) continue;
  struct ring ring = map_ring(open_abort_event(), kDataPages);
  for (int i = 0; i < 50; ++i) {
    unsigned status = ~0u;
    __asm__ volatile(
        "xbegin 1f\n.globl reading_begin, reading_end\nreading_begin: mov (%1), %%rdx\n2: cmp (%1), %%rdx\n "
        "je 2b\n"
        " xend\nreading_end:\n1:"
        : "+a"(status)
        : "r"(&shared.word)
        : "rdx", "memory", "cc");
  }
  shared.stop = 1;
  pthread_join(thread, NULL);
  unsigned conflicts = 0;
  struct abort_sample sample;
  while (next_record(&ring, record) != 0) {
    memcpy(&sample, record, sizeof sample);
    if ((sample.transaction & PERF_TXN_CONFLICT) == 0) continue;
    EXPECT_EQUAL(sample.transaction,
                 PERF_TXN_TRANSACTION | PERF_TXN_ASYNC | PERF_TXN_RETRY | PERF_TXN_CONFLICT);
    EXPECT(sample.ip >= (uint64_t)reading_begin && sample.ip < (uint64_t)reading_end);
    ++conflicts;
  }
  EXPECT(conflicts >= 40);
  unmap(&ring);
}

extern char inside_begin[], inside_end[];

/// A transaction longer than the period: an interrupt aborts it, and the sample shows the fallback, or with
/// precise_ip the instruction inside. Counting alone aborts nothing.
static __attribute__((noinline, noclone)) unsigned interrupted_transaction(unsigned long steps) {
  unsigned status = ~0u;
  __asm__ volatile(
      ".globl inside_begin, inside_end\n xbegin 1f\ninside_begin: dec %1\n jnz inside_begin\n "
      "xend\ninside_end:\n1:"
      : "+a"(status), "+r"(steps)
      :
      : "memory", "cc");
  return status;
}

static void test_interrupts(int precise) {
  const int counter = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  const unsigned long steps = 3000;
  int committed = 0;
  for (int i = 0; i < 20; ++i) committed += interrupted_transaction(steps) == ~0u;
  EXPECT(committed >= 18);
  close(counter);
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 1000;
  attr.precise_ip = (unsigned)precise & 3;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TRANSACTION;
  const int event = open_event(&attr, 0, -1, -1, 0);
  struct ring ring = map_ring(event, kDataPages);
  const int others = open_counter(PERF_TYPE_RAW, 0x80c9);
  committed = 0;
  for (int i = 0; i < 20; ++i) {
    const unsigned status = interrupted_transaction(steps);
    committed += status == ~0u;
    EXPECT(status == ~0u || status == 0);
  }
  EXPECT_EQUAL(committed, 0);
  EXPECT(count_of(others) >= 20);
  unsigned inside = 0, at_fallback = 0;
  while (next_record(&ring, record) == PERF_RECORD_SAMPLE) {
    const uint64_t ip = *(const uint64_t*)(record + 8);
    inside += ip >= (uint64_t)inside_begin && ip < (uint64_t)inside_end;
    at_fallback += ip == (uint64_t)inside_end;
  }
  if (precise) {
    EXPECT(inside >= 18);
  } else {
    EXPECT_EQUAL(inside, 0);
    EXPECT(at_fallback >= 18);
  }
  close(others);
  unmap(&ring);
}

static uint64_t nanoseconds_of_work(void) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  long_work(1000000);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u + (uint64_t)end.tv_nsec -
         (uint64_t)begin.tv_nsec;
}

/// In virtual time: counting costs nothing, each sample an interrupt.
static void test_cost(void) {
  const uint64_t plain = nanoseconds_of_work();
  const int counter = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  const uint64_t counting = nanoseconds_of_work();
  close(counter);
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  attr.sample_period = 20000;  // 100 samples
  const int event = open_event(&attr, 0, -1, -1, 0);
  const uint64_t sampling = nanoseconds_of_work();
  close(event);
  EXPECT(counting < plain + plain / 50 && plain < counting + counting / 50);
  EXPECT(sampling > plain + 100 * 500 && sampling < plain + 100 * 10000);
}

static volatile int signals, hung_up, signal_descriptor;

static void on_overflow(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  ++signals;
  signal_descriptor = info->si_fd;
  if (info->si_code == POLL_HUP) ++hung_up;
}

/// Signals to the thread at each overflow; with REFRESH the last one says that no more follow.
static void test_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_overflow;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN + 4, &action, NULL);
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 50000;
  attr.disabled = 1;
  attr.sample_type = PERF_SAMPLE_IP;
  attr.wakeup_events = 1;
  const int event = open_event(&attr, 0, -1, -1, 0);
  const struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)};
  EXPECT_EQUAL(fcntl(event, F_SETSIG, SIGRTMIN + 4), 0);
  EXPECT_EQUAL(fcntl(event, F_SETOWN_EX, &owner), 0);
  EXPECT_EQUAL(fcntl(event, F_SETFL, fcntl(event, F_GETFL) | O_ASYNC), 0);
  EXPECT_EQUAL(fcntl(event, F_GETSIG), SIGRTMIN + 4);
  EXPECT((fcntl(event, F_GETFL) & O_ASYNC) != 0);
  struct ring ring = map_ring(event, kDataPages);
  EXPECT_EQUAL(ioctl(event, PERF_EVENT_IOC_REFRESH, 3), 0);
  long_work(1000000);
  EXPECT_EQUAL(signals, 3);
  EXPECT_EQUAL(hung_up, 1);
  EXPECT_EQUAL(signal_descriptor, event);
  unsigned samples = 0;
  while (next_record(&ring, record) != 0) ++samples;
  EXPECT_EQUAL(samples, 3);
  EXPECT_EQUAL(ioctl(event, PERF_EVENT_IOC_REFRESH, 1), 0);
  long_work(1000000);
  EXPECT_EQUAL(signals, 4);
  unmap(&ring);
}

/// poll finds the ring readable after the wake-up, and no more once it is read.
static void test_poll(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 50000;
  attr.disabled = 1;
  attr.sample_type = PERF_SAMPLE_IP;
  attr.wakeup_events = 4;
  const int event = open_event(&attr, 0, -1, -1, 0);
  struct ring ring = map_ring(event, kDataPages);
  struct pollfd wait = {event, POLLIN, 0};
  ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  long_work(100000);
  EXPECT_EQUAL(poll(&wait, 1, 0), 0);  // at most 2 samples
  long_work(400000);
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  EXPECT_EQUAL(poll(&wait, 1, 0), 1);
  EXPECT_EQUAL(wait.revents, POLLIN);
  while (next_record(&ring, record) != 0) continue;
  EXPECT_EQUAL(poll(&wait, 1, 0), 0);
  unmap(&ring);
}

static void* named_thread(void* unused) {
  prctl(PR_SET_NAME, "worker");
  return unused;
}

/// Names, mappings of code, threads that begin and end.
static void test_records(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  attr.mmap = attr.mmap2 = attr.comm = attr.task = attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.inherit = 1;
  int event = -1;
  struct perf_event_attr without = attr;
  without.inherit = 0;
  const int own = open_event(&without, 0, -1, -1, 0);
  struct ring ring = map_ring(own, kDataPages);
  event = open_event(&attr, 0, -1, -1, 0);
  EXPECT(mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0) == MAP_FAILED &&
         errno == EINVAL);
  EXPECT_EQUAL(ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, own), 0);
  prctl(PR_SET_NAME, "renamed");
  void* const code = mmap(NULL, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, named_thread, NULL);
  pthread_join(thread, NULL);
  int renamed = 0, worker = 0, mapped = 0, forked = 0, ended = 0;
  for (int type; (type = next_record(&ring, record)) != 0;) {
    const uint32_t* const numbers = (const uint32_t*)(record + 8);
    const uint64_t* const words = (const uint64_t*)(record + 8);
    renamed += type == PERF_RECORD_COMM && strcmp(record + 16, "renamed") == 0;
    worker += type == PERF_RECORD_COMM && strcmp(record + 16, "worker") == 0;
    mapped += type == PERF_RECORD_MMAP2 && words[1] <= (uint64_t)code && words[1] + words[2] > (uint64_t)code;
    forked += type == PERF_RECORD_FORK && numbers[0] == (uint32_t)getpid() && numbers[2] != numbers[3];
    ended += type == PERF_RECORD_EXIT && numbers[0] == (uint32_t)getpid();
  }
  EXPECT_EQUAL(renamed, 2);  // for both events
  EXPECT_EQUAL(mapped, 2);
  EXPECT_EQUAL(worker, 1);
  EXPECT(forked >= 1 && ended >= 1);
  close(event);
  unmap(&ring);
}

/// An event whose ring has been closed with the other event writes nowhere, also when the next event takes
/// the other's place.
static void test_closed_ring(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 100000;
  attr.sample_type = PERF_SAMPLE_IP;
  struct perf_event_attr silent = attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  struct ring first = map_ring(open_event(&silent, 0, -1, -1, 0), 1);
  const int event = open_event(&attr, 0, -1, -1, 0);
  EXPECT_EQUAL(ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, first.event), 0);
  long_work(300000);
  EXPECT_EQUAL(next_record(&first, record), PERF_RECORD_SAMPLE);
  unmap(&first);
  struct ring second = map_ring(open_event(&silent, 0, -1, -1, 0), 1);
  long_work(300000);
  EXPECT_EQUAL(next_record(&second, record), 0);
  unmap(&second);
  close(event);
}

static int maps_page(void) {
  return mmap(NULL, kPage, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

/// Maps page after page until the host has no room for another mapping. Returns null if it always has. The
/// virtual machine needs memory as well, and gets none from the host then: before, it notes many regions,
/// and keeps the memory of those that are unmapped again.
static char* use_up_mappings(size_t size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char* const pages = mmap(NULL, size, PROT_NONE, flags, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  const size_t noted = (size_t)kPage << 14;
  for (size_t at = kPage; at < noted; at += (size_t)2 * kPage)
    mprotect(pages + at, kPage, PROT_READ | PROT_WRITE);
  mprotect(pages, noted - (size_t)64 * kPage, PROT_NONE);
  int is_full = 0;
  for (size_t at = noted + kPage; at < size && !is_full; at += (size_t)2 * kPage)
    is_full = mprotect(pages + at, kPage, PROT_READ) != 0;
  while (is_full && maps_page()) continue;
  if (is_full) return pages;
  munmap(pages, size);
  return NULL;
}

/// While the virtual machine cannot map a ring itself, the ring gets no samples; later it does. There is room
/// for one or two of them.
static void test_no_room_for_rings(void) {
  enum { kRings = 4 };
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_period = 100000;
  attr.sample_type = PERF_SAMPLE_IP;
  attr.disabled = 1;
  struct ring rings[kRings];
  for (int i = 0; i < kRings; ++i) rings[i] = map_ring(open_event(&attr, 0, -1, -1, 0), kDataPages);
  const size_t size = (size_t)kPage << 17;
  char* const pages = use_up_mappings(size);
  int empty = 0;
  for (int i = 0; i < kRings; ++i) ioctl(rings[i].event, PERF_EVENT_IOC_ENABLE, 0);
  long_work(1000000);
  for (int i = 0; i < kRings; ++i) empty += rings[i].page->data_head == 0;
  if (pages != NULL) {
    munmap(pages, size);
    EXPECT(empty > 0);
  }
  long_work(300000);
  for (int i = 0; i < kRings; ++i) {
    EXPECT_EQUAL(next_record(&rings[i], record), PERF_RECORD_SAMPLE);
    unmap(&rings[i]);
  }
}

/// More threads than CPUs, all of which inherit the event: each has its own period.
static void* sampled_thread(void* unused) {
  long_work(1000000);
  return unused;
}
static void test_threads(void) {
  struct perf_event_attr attr = attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  attr.sample_period = 100000;
  attr.sample_type = PERF_SAMPLE_TID;
  attr.inherit = 1;
  struct ring rings[4];
  if (sysconf(_SC_NPROCESSORS_ONLN) != 4) return;
  for (int cpu = 0; cpu < 4; ++cpu) rings[cpu] = map_ring(open_event(&attr, 0, cpu, -1, 0), kDataPages);
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, sampled_thread, NULL);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  unsigned samples = 0;
  for (int cpu = 0; cpu < 4; ++cpu) {
    for (int type; (type = next_record(&rings[cpu], record)) != 0;) samples += type == PERF_RECORD_SAMPLE;
    unmap(&rings[cpu]);
  }
  EXPECT(samples >= 6 * 20 - 6 * 4 && samples <= 6 * 20 + 6);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "without-room") == 0) {
    test_no_room_for_rings();
    return printf("%s\n", failures == 0 ? "ok" : "failed"), failures != 0;
  }
  test_periods(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 100000, 2000000, 15);
  test_periods(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 100000, 2000000, 35);
  test_periods(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 50000, 2000000, 8);
  test_frequency();
  test_losses();
  test_all_fields();
  test_largest_stack();
  test_aborts();
  test_conflicts();
  test_interrupts(0);
  test_interrupts(1);
  test_cost();
  test_signals();
  test_poll();
  test_records();
  test_closed_ring();
  test_threads();
  printf("%s\n", failures == 0 ? "ok" : "failed");
  return failures != 0;
}
