// SPDX-License-Identifier: Apache-2.0
// Instructions that cannot be fetched: branches to addresses where nothing is, or data, or the kernel; an
// instruction whose last bytes lie in a page that may not be executed; pages that become executable after a
// fault; handlers that return to such places or lie there.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPage = 4096 };

static sigjmp_buf back;
static char alternate_stack[65536];
static unsigned char* code;

// What the last fault showed.
static volatile int faults, signal_seen, code_seen;
static volatile uint64_t address_seen, pc_seen, stack_seen, error_seen, trap_seen, cr2_seen;
// What the handler does: leaves by siglongjmp, or makes this page executable and returns.
static unsigned char* volatile to_repair;

static void on_fault(int signal, siginfo_t* info, void* context) {
  const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  ++faults;
  signal_seen = signal;
  code_seen = info->si_code;
  address_seen = (uint64_t)info->si_addr;
  pc_seen = (uint64_t)registers[REG_RIP];
  stack_seen = (uint64_t)registers[REG_RSP];
  error_seen = (uint64_t)registers[REG_ERR];
  trap_seen = (uint64_t)registers[REG_TRAPNO];
  cr2_seen = (uint64_t)registers[REG_CR2];
  if (to_repair == NULL) siglongjmp(back, 1);
  mprotect(to_repair, kPage, PROT_READ | PROT_EXEC);
}

static void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  sigaction(signal, &action, NULL);
}

static unsigned char* pages(int count, int protection) {
  void* const at = mmap(NULL, (size_t)count * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) exit(2);
  return at;
}

struct Transfer {
  const char* name;
  unsigned char bytes[6];
  int pushes;  // bytes below the stack pointer at the function's entry when the target is reached
};

// Each begins with mov [rdx], rsp; the target is in RDI and at [RSI].
static const struct Transfer kTransfers[] = {
    {"call through a register", {0xff, 0xd7, 0xc3}, 8}, {"jump through a register", {0xff, 0xe7}, 0},
    {"return", {0x57, 0xc3}, 0},                        {"return that pops", {0x57, 0xc2, 16, 0}, -16},
    {"call through memory", {0xff, 0x16, 0xc3}, 8},     {"jump through memory", {0xff, 0x26}, 0},
};

typedef void (*transfer)(uint64_t target, const uint64_t* at, volatile uint64_t* stack);

static int is_canonical(uint64_t address) { return (uint64_t)((int64_t)(address << 16) >> 16) == address; }

static void go(const struct Transfer* one, uint64_t target) {
  static const unsigned char kSaveStack[] = {0x48, 0x89, 0x22};
  volatile uint64_t stack = 0;
  memcpy(code, kSaveStack, sizeof kSaveStack);
  memcpy(code + sizeof kSaveStack, one->bytes, sizeof one->bytes);
  if (sigsetjmp(back, 1) == 0) ((transfer)(uintptr_t)code)(target, &target, &stack);
  printf("%s to %#llx: signal %d, code %d, ", one->name, (unsigned long long)target, signal_seen, code_seen);
  // Where CPUs differ: some show the branch, others its target.
  if (!is_canonical(target)) {
    printf("address %#llx, trap %d, error %#x\n", (unsigned long long)address_seen, (int)trap_seen,
           (unsigned)error_seen);
    return;
  }
  printf("address %d, at the target %d, stack %d, trap %d, error %#x, cr2 %d\n", address_seen == target,
         pc_seen == target, (int)(stack - stack_seen) == one->pushes, (int)trap_seen, (unsigned)error_seen,
         cr2_seen == target);
}

static void branches(void) {
  static const uint64_t kTargets[] = {0,
                                      1,
                                      0xff8,
                                      0xfff,
                                      0x7fffffffefff,
                                      0x7ffffffff000,
                                      0x7fffffffffff,
                                      0x800000000000,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0xffff7fffffffffff,
                                      0xffff800000000000,
                                      0xffffffff80000000,
                                      0xfffffffffffff000,
                                      0xfffffffffffffff0,
                                      0xfffffffffffffff8,
                                      0xffffffffffffffff};
  for (unsigned i = 0; i < sizeof kTransfers / sizeof *kTransfers; ++i)
    for (unsigned k = 0; k < sizeof kTargets / sizeof *kTargets; ++k) go(&kTransfers[i], kTargets[k]);
}

// Direct branches reach address 0, and what lies below it, from low addresses alone.
static void direct_branches(void) {
  static const struct {
    const char* name;
    unsigned char bytes[2];
    int length;
  } kKinds[] = {{"call", {0xe8}, 1}, {"jump", {0xe9}, 1}, {"conditional jump", {0x0f, 0x84}, 2}};
  static const uint64_t kTargets[] = {0, 0xfff, 0xffffffffffffffff, 0xffffffffffff0000};
  unsigned char* const low = mmap((void*)0x100000, kPage, PROT_READ | PROT_WRITE | PROT_EXEC,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (low == MAP_FAILED) exit(2);
  for (unsigned i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    for (unsigned k = 0; k < sizeof kTargets / sizeof *kTargets; ++k) {
      unsigned char* at = low;
      *at++ = 0x31, *at++ = 0xc0;  // xor eax, eax
      memcpy(at, kKinds[i].bytes, (size_t)kKinds[i].length);
      at += kKinds[i].length;
      const int32_t distance = (int32_t)(kTargets[k] - (uint64_t)(at + 4));
      memcpy(at, &distance, 4);
      if (sigsetjmp(back, 1) == 0) ((void (*)(void))(uintptr_t)low)();
      printf("direct %s to %#llx: signal %d, code %d, address %d, at the target %d\n", kKinds[i].name,
             (unsigned long long)kTargets[k], signal_seen, code_seen, address_seen == kTargets[k],
             pc_seen == kTargets[k]);
    }
  }
  munmap(low, kPage);
}

// inc dword [rdi]; mov rax, imm64; ret
static const unsigned char kLong[] = {0xff, 0x07, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3};
typedef uint64_t (*counted)(volatile int*);

/// The boundary between two pages lies `before` bytes into the long instruction; `protection` is the second
/// page's, 0 unmaps it.
static void across(const char* name, int before, int protection, int mapped) {
  unsigned char* const at = pages(2, PROT_READ | PROT_WRITE);
  unsigned char* const boundary = at + kPage;
  unsigned char* const begin = boundary - before - 2;
  memcpy(begin, kLong, sizeof kLong);
  unsigned char second[sizeof kLong];
  memcpy(second, boundary, sizeof second);
  mprotect(at, kPage, PROT_READ | PROT_EXEC);
  mprotect(boundary, kPage, protection);
  if (!mapped) munmap(boundary, kPage);
  volatile int count = 0;
  const int earlier = faults;
  to_repair = NULL;
  if (sigsetjmp(back, 1) == 0) ((counted)(uintptr_t)begin)(&count);
  printf("%s, %d bytes before it: signal %d, code %d, address %d, at the instruction %d, trap %d, error %#x, count %d\n",
         name, before, signal_seen, code_seen, address_seen == (uint64_t)boundary,
         pc_seen == (uint64_t)(before == 0 ? boundary : begin + 2), (int)trap_seen, (unsigned)error_seen, count);
  if (!mapped) {
    if (mmap(boundary, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != boundary)
      exit(2);
    memcpy(boundary, second, sizeof second);
    mprotect(boundary, kPage, PROT_READ);
  }
  to_repair = boundary;  // now the handler goes on
  const uint64_t value = ((counted)(uintptr_t)begin)(&count);
  printf("  then %#llx, count %d, faults %d", (unsigned long long)value, count, faults - earlier);
  ((counted)(uintptr_t)begin)(&count);
  printf(", and again %d\n", faults - earlier);
  to_repair = NULL;
  munmap(at, 2 * kPage);
}

static void page_ends(void) {
  for (int before = 0; before < 10; ++before) {
    across("data", before, PROT_READ | PROT_WRITE, 1);
    across("no access", before, PROT_NONE, 1);
    across("nothing", before, PROT_READ, 0);
  }
}

static void at_page_end(const char* name, const unsigned char* bytes, int length) {
  unsigned char* const at = pages(2, PROT_READ | PROT_WRITE);
  unsigned char* const begin = at + kPage - length;
  memcpy(begin, bytes, (size_t)length);
  at[kPage] = 0;  // touched
  mprotect(at, kPage, PROT_READ | PROT_EXEC);
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))(uintptr_t)begin)();
  printf("page ends with %s: signal %d, code %d, address %d, at the instruction %d, error %#x\n", name,
         signal_seen, code_seen,
         address_seen == 0                        ? 0
         : address_seen == (uint64_t)(at + kPage) ? 1
         : address_seen == (uint64_t)begin        ? 2
                                                  : 3,
         pc_seen == (uint64_t)begin, (unsigned)error_seen);
  munmap(at, 2 * kPage);
}

static void last_instructions(void) {
  static const unsigned char kUd2[] = {0x0f, 0x0b}, kPrefixes[] = {0x66, 0x66, 0x48, 0x0f};
  static const unsigned char kOperand[] = {0x8b, 0x05, 0, 0}, kVex[] = {0xc5, 0xf8}, kSystemCall[] = {0x0f};
  unsigned char many[20];
  memset(many, 0x66, sizeof many);
  at_page_end("UD2", kUd2, 2);
  at_page_end("half of UD2", kUd2, 1);
  at_page_end("prefixes and half an opcode", kPrefixes, 4);
  at_page_end("half a displacement", kOperand, 4);
  at_page_end("half a VEX prefix", kVex, 2);
  at_page_end("half of SYSCALL", kSystemCall, 1);
  at_page_end("fourteen prefixes", many, 14);
  at_page_end("more prefixes than an instruction may have", many, 20);
  many[15] = 0x90;
  memcpy(code, many, 16);
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))(uintptr_t)code)();
  printf("too long: signal %d, code %d, address %d, trap %d, error %#x\n", signal_seen, code_seen,
         (int)address_seen, (int)trap_seen, (unsigned)error_seen);
}

// mov eax, value; ret
static void write_constant(unsigned char* at, int value) {
  at[0] = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}
static int call(const unsigned char* at) { return ((int (*)(void))(uintptr_t)at)(); }
static int try_to_call(const unsigned char* at) { return sigsetjmp(back, 1) == 0 ? call(at) : -1; }

static void becomes_executable(void) {
  unsigned char* const at = pages(4, PROT_READ | PROT_WRITE);
  const int earlier = faults;
  write_constant(at, 11);
  int first = try_to_call(at);
  mprotect(at, kPage, PROT_READ | PROT_EXEC);
  printf("made executable: %d %d", first, try_to_call(at));
  mprotect(at, kPage, PROT_READ);
  first = try_to_call(at);
  mprotect(at, kPage, PROT_READ | PROT_EXEC);
  printf(", once more %d %d, faults %d\n", first, try_to_call(at), faults - earlier);

  unsigned char* const hole = at + kPage;
  munmap(hole, kPage);
  first = try_to_call(hole + 64);
  if (mmap(hole, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != hole)
    exit(2);
  write_constant(hole + 64, 12);
  printf("mapped: %d %d, faults %d\n", first, try_to_call(hole + 64), faults - earlier);

  // An executable page moves to where a fetch failed, and away.
  unsigned char* const target = at + 3 * kPage;
  munmap(target, kPage);
  first = try_to_call(target + 64);
  if (mremap(hole, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, target) != target) exit(2);
  printf("moved: %d %d %d, faults %d\n", first, try_to_call(target + 64), try_to_call(hole + 64),
         faults - earlier);

  // The handler makes it executable and returns; then the page is data again.
  unsigned char* const repaired = at + 2 * kPage;
  write_constant(repaired, 13);
  to_repair = repaired;
  first = call(repaired);
  to_repair = NULL;
  const int second = try_to_call(repaired);
  mprotect(repaired, kPage, PROT_READ | PROT_WRITE);
  printf("repaired: %d %d %d, faults %d\n", first, second, try_to_call(repaired), faults - earlier);
  munmap(at, 4 * kPage);
}

// A program's loop calls a function whose page comes and goes.
static void comes_and_goes(void) {
  unsigned char* const at = pages(1, PROT_READ | PROT_WRITE);
  const int earlier = faults;
  long sum = 0;
  write_constant(at, 3);
  for (volatile int i = 0; i < 60; ++i) {
    mprotect(at, kPage, i % 3 == 0 ? PROT_READ : PROT_READ | PROT_EXEC);
    sum += try_to_call(at);
  }
  printf("comes and goes: %ld, faults %d\n", sum, faults - earlier);
  munmap(at, kPage);
}

static volatile uint64_t return_to;

static void on_usr1(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)return_to;
}

static void from_a_handler(uint64_t target) {
  return_to = target;
  handle(SIGUSR1, on_usr1, SA_NODEFER);
  if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
  printf("handler returns to %#llx: signal %d, code %d, address %#llx, trap %d, error %#x\n",
         (unsigned long long)target, signal_seen, code_seen, (unsigned long long)address_seen, (int)trap_seen,
         (unsigned)error_seen);
}

/// A child whose handler of `sent` lies at `handler`.
static void handler_at(uint64_t handler, int sent) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    handle(sent, (void (*)(int, siginfo_t*, void*))(uintptr_t)handler, 0);
    if (sent != SIGSEGV) raise(sent);
    *(volatile int*)16 = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("handler of %d at %#llx: ends by %d\n", sent, (unsigned long long)handler,
         WIFSIGNALED(status) ? WTERMSIG(status) : -1);
}

int main(void) {
  const stack_t alternate = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
  sigaltstack(&alternate, NULL);
  handle(SIGSEGV, on_fault, SA_NODEFER);
  handle(SIGILL, on_fault, SA_NODEFER);
  handle(SIGBUS, on_fault, SA_NODEFER);
  code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
  branches();
  direct_branches();
  page_ends();
  last_instructions();
  becomes_executable();
  comes_and_goes();
  from_a_handler(8);
  from_a_handler(0x7ffffffff000);
  handler_at(2, SIGUSR1);
  handler_at(0x800000000000, SIGUSR1);
  handler_at(0xffffffffffffffff, SIGUSR1);
  handler_at(0xfffffffffffff000, SIGSEGV);
  return 0;
}
