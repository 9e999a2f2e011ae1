// SPDX-License-Identifier: Apache-2.0
// No AT_SYSINFO_EHDR: without a vDSO every clock read is a system call and thus virtual time.
#include "vm/linux/load/initial_stack.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vm/linux/process/limits.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace elision::vm {
namespace {

constexpr std::uint64_t kMinSignalStackBytes = 2048;  // above the size of the frames of signal_frame.cc

/// Copies strings and words to the stack, downwards.
class StackWriter {
 public:
  explicit StackWriter(std::uint64_t top) : pointer_(top) {}

  std::uint64_t bytes(const void* data, std::size_t size) {
    pointer_ -= size;
    std::memcpy(reinterpret_cast<void*>(pointer_), data, size);
    return pointer_;
  }
  std::uint64_t text(const std::string& value) { return bytes(value.c_str(), value.size() + 1); }
  /// Addresses in the order of `values`; the strings themselves lie in ascending order too, as in Linux.
  std::vector<std::uint64_t> texts(const std::vector<std::string>& values) {
    std::vector<std::uint64_t> addresses(values.size());
    for (std::size_t i = values.size(); i-- > 0;) addresses[i] = text(values[i]);
    return addresses;
  }
  void align(std::uint64_t alignment) { pointer_ &= ~(alignment - 1); }
  std::uint64_t pointer() const { return pointer_; }

 private:
  std::uint64_t pointer_;
};

std::uint64_t bytes_needed(const StackContents& contents) {
  std::uint64_t total = contents.path.size() + 4096;
  for (const auto* list : {&contents.arguments, &contents.environment})
    for (const std::string& text : *list) total += text.size() + 1 + sizeof(std::uint64_t);
  return total;
}

std::vector<std::uint64_t> auxiliary_vector(const StackContents& contents, const MachineIdentity& identity,
                                            std::uint64_t random, std::uint64_t platform,
                                            std::uint64_t path) {
  return {AT_HWCAP,       identity.hardware_capabilities,
          AT_PAGESZ,      kPageBytes,
          AT_CLKTCK,      100,
          AT_PHDR,        contents.program.headers,
          AT_PHENT,       sizeof(Elf64_Phdr),
          AT_PHNUM,       contents.header_count,
          AT_BASE,        contents.loader_base,
          AT_FLAGS,       0,
          AT_ENTRY,       contents.program.entry,
          AT_UID,         getuid(),
          AT_EUID,        geteuid(),
          AT_GID,         getgid(),
          AT_EGID,        getegid(),
          AT_SECURE,      0,
          AT_RANDOM,      random,
          AT_HWCAP2,      0,  // no FSGSBASE: the engine owns the segment bases
          AT_EXECFN,      path,
          AT_PLATFORM,    platform,
          AT_MINSIGSTKSZ, kMinSignalStackBytes,
          AT_NULL,        0};
}

}  // namespace

Fallible<InitialStack> build_initial_stack(AddressSpace& memory, EngineServices& services,
                                           const StackContents& contents, const MachineIdentity& identity) {
  const std::uint64_t size = stack_bytes(contents.limits, bytes_needed(contents));
  const std::uint64_t top = kStackTop - services.random() % 4096 * kPageBytes;
  const long mapped =
      memory.map(top - size, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0, RegionUse::kStack);
  if (mapped < 0) return Failure{ENOMEM, "no memory for its stack"};

  StackWriter writer(top - 8);
  const std::uint64_t path = writer.text(contents.path);
  const std::vector<std::uint64_t> environment = writer.texts(contents.environment);
  const std::vector<std::uint64_t> arguments = writer.texts(contents.arguments);
  const std::uint64_t platform = writer.text("x86_64");
  const std::uint64_t seeds[2] = {services.random(), services.random()};
  writer.align(16);
  const std::uint64_t random = writer.bytes(seeds, sizeof seeds);

  InitialStack result;
  result.auxiliary_vector = auxiliary_vector(contents, identity, random, platform, path);
  std::vector<std::uint64_t> words{arguments.size()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(0);
  words.insert(words.end(), environment.begin(), environment.end());
  words.push_back(0);
  words.insert(words.end(), result.auxiliary_vector.begin(), result.auxiliary_vector.end());
  if (words.size() % 2 != 0) writer.bytes("\0\0\0\0\0\0\0", 8);  // RSP is a multiple of 16 at entry
  result.stack_pointer = writer.bytes(words.data(), words.size() * sizeof(std::uint64_t));
  return result;
}

}  // namespace elision::vm
