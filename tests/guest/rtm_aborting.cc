// SPDX-License-Identifier: Apache-2.0
// Which instructions abort a transaction, and which do not.
//
// For most of them the manual says that they may abort. The virtual CPU always aborts; silicon may do either.
// ELISION_VZEROUPPER=runs in the environment means that VZEROUPPER does not abort on the machine.
#include <sys/mman.h>

#include <cstdlib>

#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr std::size_t kMemoryBytes = 65536;
unsigned char* memory() {
  static unsigned char* const bytes = static_cast<unsigned char*>(
      mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(bytes, 1, kMemoryBytes);
  return bytes;
}

/// The results of transactions around one instruction.
struct Outcome {
  unsigned commits = 0;
  std::uint32_t status = 0;  // of the last that did not commit
};

using Run = Outcome (*)();

constexpr unsigned kRounds = 50;

// One function per instruction, because asm needs a literal.
#define OUTCOME(text)                                                           \
  [] {                                                                          \
    Outcome outcome;                                                            \
    unsigned char* const bytes = memory();                                      \
    for (unsigned i = 0; i < kRounds; ++i) {                                    \
      std::uint32_t status;                                                     \
      RULES_TRANSACTION(status, bytes, text);                                   \
      status == Status::kStarted ? ++outcome.commits : outcome.status = status; \
    }                                                                           \
    return outcome;                                                             \
  }

struct Row {
  const char* instruction;
  Run run;
};

constexpr Row kAlways[] = {
    {"PAUSE", OUTCOME("pause")},
    {"CPUID", OUTCOME("xor %%eax, %%eax\ncpuid")},
    {"XABORT", OUTCOME("xabort $0")},
};

constexpr Row kX87[] = {
    {"FLD1", OUTCOME("fld1\nfstp %%st(0)")},
    {"FNOP", OUTCOME("fnop")},
    {"FILD", OUTCOME("fildl (%%rdi)\nfstp %%st(0)")},
    {"MOVQ MM", OUTCOME("movq (%%rdi), %%mm0\nemms")},
    {"EMMS", OUTCOME("emms")},
};
constexpr Row kFlags[] = {
    {"POPFQ", OUTCOME("pushfq\npopfq")},
    {"CLI", OUTCOME("cli")},
    {"STI", OUTCOME("sti")},
    {"CLD and STD that change DF", OUTCOME("std\ncld")},
};
constexpr Row kSegments[] = {
    {"MOV to DS", OUTCOME("mov %%ds, %%ecx\nmov %%ecx, %%ds")},
    {"MOV to ES", OUTCOME("mov %%es, %%ecx\nmov %%ecx, %%es")},
    {"MOV to FS", OUTCOME("mov %%fs, %%ecx\nmov %%ecx, %%fs")},
    {"WRFSBASE", OUTCOME("rdfsbase %%rcx\nwrfsbase %%rcx")},
    {"WRGSBASE", OUTCOME("xor %%ecx, %%ecx\nwrgsbase %%rcx")},
    {"SWAPGS", OUTCOME("swapgs")},
    {"SIDT", OUTCOME("sidt (%%rdi)")},
    {"SLDT", OUTCOME("sldt %%rcx")},
    {"far RET", OUTCOME("mov %%cs, %%edx\nlea 5f(%%rip), %%rcx\npush %%rdx\npush %%rcx\nlretq\n5: nop")},
    {"IRETQ",
     OUTCOME(
         "mov %%rsp, %%rdx\nmov %%ss, %%ecx\npush %%rcx\npush %%rdx\npushfq\nmov %%cs, %%ecx\npush %%rcx\n"
         "lea 5f(%%rip), %%rcx\npush %%rcx\niretq\n5: nop")},
};
constexpr Row kRings[] = {
    {"SYSCALL", OUTCOME("mov $39, %%eax\nsyscall")},
    {"INT 0x80", OUTCOME("mov $20, %%eax\nint $0x80")},
    {"INT 0x21", OUTCOME("int $0x21")},
};
constexpr Row kNonTemporal[] = {
    {"MOVNTI", OUTCOME("movnti %%rcx, (%%rdi)")},
    {"MOVNTDQ", OUTCOME("movntdq %%xmm0, (%%rdi)")},
    {"MOVNTPS", OUTCOME("movntps %%xmm0, (%%rdi)")},
    {"MOVNTPD", OUTCOME("movntpd %%xmm0, (%%rdi)")},
    {"VMOVNTDQ", OUTCOME("vmovntdq %%ymm0, (%%rdi)")},
    {"VMOVNTPS", OUTCOME("vmovntps %%ymm0, (%%rdi)")},
    {"MOVNTQ", OUTCOME("movntq %%mm0, (%%rdi)\nemms")},
    {"MASKMOVDQU", OUTCOME("pcmpeqd %%xmm1, %%xmm1\nmaskmovdqu %%xmm1, %%xmm0")},
    {"VMASKMOVDQU", OUTCOME("pcmpeqd %%xmm1, %%xmm1\nvmaskmovdqu %%xmm1, %%xmm0")},
    {"MASKMOVQ", OUTCOME("pcmpeqd %%mm1, %%mm1\nmaskmovq %%mm1, %%mm0\nemms")},
};
constexpr Row kNonTemporalLoads[] = {
    {"MOVNTDQA", OUTCOME("movntdqa (%%rdi), %%xmm0")},
    {"VMOVNTDQA", OUTCOME("vmovntdqa (%%rdi), %%ymm0")},
};
constexpr Row kCaches[] = {
    {"CLFLUSH", OUTCOME("clflush (%%rdi)")},
    {"CLFLUSHOPT", OUTCOME("clflushopt (%%rdi)")},
};
constexpr Row kStateSaves[] = {
    {"XSAVE", OUTCOME("mov $7, %%eax\nxor %%edx, %%edx\nxsave (%%rdi)")},
    {"XSAVEC", OUTCOME("mov $7, %%eax\nxor %%edx, %%edx\nxsavec (%%rdi)")},
    {"XSAVEOPT", OUTCOME("mov $7, %%eax\nxor %%edx, %%edx\nxsaveopt (%%rdi)")},
    {"XRSTOR", OUTCOME("xor %%eax, %%eax\nxor %%edx, %%edx\nxrstor 4096(%%rdi)")},
    {"FXSAVE", OUTCOME("fxsave (%%rdi)")},
    {"FXRSTOR", OUTCOME("fxsave (%%rdi)\nfxrstor (%%rdi)")},
};
constexpr Row kPrivileged[] = {
    {"UD2", OUTCOME("ud2")},
    {"HLT", OUTCOME("hlt")},
    {"IN", OUTCOME("in $0x80, %%al")},
    {"RDMSR", OUTCOME("rdmsr")},
    {"XSETBV", OUTCOME("xor %%ecx, %%ecx\nxor %%eax, %%eax\nxor %%edx, %%edx\nxsetbv")},
    {"WRPKRU", OUTCOME("xor %%ecx, %%ecx\nxor %%eax, %%eax\nxor %%edx, %%edx\nwrpkru")},
    {"MONITOR", OUTCOME("mov %%rdi, %%rax\nxor %%ecx, %%ecx\nxor %%edx, %%edx\nmonitor")},
};

constexpr Row kFine[] = {
    {"RDTSC", OUTCOME("rdtsc")},
    {"RDTSCP", OUTCOME("rdtscp")},
    {"MFENCE", OUTCOME("mfence")},
    {"LFENCE", OUTCOME("lfence")},
    {"SFENCE", OUTCOME("sfence")},
    {"LOCK ADD", OUTCOME("lock addl $1, (%%rdi)")},
    {"XCHG", OUTCOME("xchg %%rcx, (%%rdi)")},
    {"LOCK CMPXCHG16B", OUTCOME("lock cmpxchg16b (%%rdi)")},
    {"LOCK XADD", OUTCOME("lock xadd %%ecx, (%%rdi)")},
    {"RDRAND", OUTCOME("rdrand %%rcx")},
    {"XGETBV", OUTCOME("xor %%ecx, %%ecx\nxgetbv")},
    {"PUSHFQ", OUTCOME("pushfq\npop %%rcx")},
    {"SAHF", OUTCOME("lahf\nsahf")},
    {"CLD that changes nothing", OUTCOME("cld")},
    {"MOV from DS", OUTCOME("mov %%ds, %%ecx")},
    {"PREFETCHT0, PREFETCHNTA, PREFETCHW",
     OUTCOME("prefetcht0 (%%rdi)\nprefetchnta 64(%%rdi)\nprefetchw 128(%%rdi)")},
    {"LDMXCSR", OUTCOME("stmxcsr (%%rdi)\nldmxcsr (%%rdi)")},
    {"AVX2 and SSE", OUTCOME("vpaddd %%ymm1, %%ymm2, %%ymm3\naddps %%xmm1, %%xmm2")},
    {"VPGATHERDD", OUTCOME("vpcmpeqd %%ymm1, %%ymm1, %%ymm1\nvpxor %%ymm0, %%ymm0, %%ymm0\n"
                           "vpgatherdd %%ymm1, (%%rdi,%%ymm0,4), %%ymm2")},
    {"REP MOVSB", OUTCOME("lea 4096(%%rdi), %%rsi\nmov $300, %%ecx\nrep movsb\nsub $300, %%rdi")},
    {"BTS with a register", OUTCOME("mov $77, %%ecx\nbtsl %%ecx, (%%rdi)")},
    {"CALL and RET", OUTCOME("call 5f\njmp 6f\n5: ret\n6: nop")},
};
constexpr Row kVzeroupper[] = {{"VZEROUPPER", OUTCOME("vzeroupper")}};

/// Every row's instruction aborts every transaction, with only the bits of `status` set.
const char* all_abort(std::span<const Row> rows, std::uint32_t status = 0) {
  for (const Row& row : rows) {
    const Outcome outcome = row.run();
    if (outcome.commits > 0) return seen("%s: %u of %u commit", row.instruction, outcome.commits, kRounds);
    if (outcome.status != status && outcome.status != 0)
      return seen("%s: status %#x", row.instruction, outcome.status);
  }
  return nullptr;
}

/// The same, but silicon may behave differently, except that it must not report an XABORT.
const char* may_abort(std::span<const Row> rows) {
  if (on_virtual_cpu()) return all_abort(rows);
  for (const Row& row : rows) {
    const Outcome outcome = row.run();
    if ((outcome.status & Status::kExplicitBit) != 0)
      return seen("%s: status %#x", row.instruction, outcome.status);
  }
  return nullptr;
}

const char* all_run(std::span<const Row> rows) {
  for (const Row& row : rows)
    if (const Outcome outcome = row.run(); outcome.commits == 0)
      return seen("%s: status %#x", row.instruction, outcome.status);
  return nullptr;
}

const char* vzeroupper() {
  const char* expected = std::getenv("ELISION_VZEROUPPER");
  if (expected != nullptr && std::strcmp(expected, "runs") == 0) return all_run(kVzeroupper);
  return may_abort(kVzeroupper);
}

const Case kCases[] = {
    {"PAUSE, CPUID and XABORT abort", "17.3.9.1", Where::kEverywhere, [] { return all_abort(kAlways, 1); }},
    {"x87 and MMX abort", "17.3.9.1", Where::kEverywhere, [] { return may_abort(kX87); }},
    {"changes of DF, IF and POPF abort", "17.3.9.1", Where::kEverywhere, [] { return may_abort(kFlags); }},
    {"segments and descriptor tables abort", "17.3.9.1", Where::kEverywhere,
     [] { return may_abort(kSegments); }},
    {"SYSCALL and INT n abort", "17.3.9.1", Where::kEverywhere, [] { return may_abort(kRings); }},
    {"non-temporal stores abort", "17.3.9.1", Where::kEverywhere, [] { return may_abort(kNonTemporal); }},
    {"non-temporal loads of write-back memory run", "17.3.9.1", Where::kVirtual,
     [] { return all_run(kNonTemporalLoads); }},
    {"CLFLUSH and CLFLUSHOPT abort", "17.3.9.1", Where::kEverywhere, [] { return may_abort(kCaches); }},
    {"XSAVE, XRSTOR, FXSAVE and FXRSTOR abort", "17.3.9.1", Where::kEverywhere,
     [] { return may_abort(kStateSaves); }},
    {"UD2, HLT, I/O, RDMSR, XSETBV and WRPKRU abort", "17.3.9.1", Where::kEverywhere,
     [] { return may_abort(kPrivileged); }},
    {"VZEROUPPER aborts or not, as the machine has it", "17.3.9.1", Where::kEverywhere, vzeroupper},
    {"clocks, fences, locked and ordinary instructions run", "17.3.9.1", Where::kEverywhere,
     [] { return all_run(kFine); }},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
