// SPDX-License-Identifier: Apache-2.0
// The guarded access routines and their recovery addresses.
#include "vm/host/guest_memory.h"

#include <algorithm>

#include "vm/interface/guest_layout.h"

extern "C" {
std::uint64_t elision_guarded_copy(void* to, const void* from, std::uint64_t size);
std::uint64_t elision_guarded_exchange(std::uint64_t address, std::uint32_t expected, std::uint32_t desired,
                                       std::uint32_t* seen);
extern const char elision_guarded_copy_access[];
extern const char elision_guarded_exchange_access[];
extern const char elision_guarded_failure[];
}

// Each returns 0 on success and 1 through the common failure exit.
asm(R"(
.pushsection .text
.p2align 4
.globl elision_guarded_copy
.hidden elision_guarded_copy
.type elision_guarded_copy, @function
elision_guarded_copy:
  mov %rdx, %rcx
.globl elision_guarded_copy_access
.hidden elision_guarded_copy_access
elision_guarded_copy_access:
  rep movsb
  xor %eax, %eax
  ret
.size elision_guarded_copy, .-elision_guarded_copy
.globl elision_guarded_exchange
.hidden elision_guarded_exchange
.type elision_guarded_exchange, @function
elision_guarded_exchange:
  mov %esi, %eax
  mov %rcx, %r8
.globl elision_guarded_exchange_access
.hidden elision_guarded_exchange_access
elision_guarded_exchange_access:
  lock cmpxchg %edx, (%rdi)
  mov %eax, (%r8)
  xor %eax, %eax
  ret
.size elision_guarded_exchange, .-elision_guarded_exchange
.globl elision_guarded_failure
.hidden elision_guarded_failure
elision_guarded_failure:
  mov $1, %eax
  ret
.popsection
)");

namespace elision::vm {
namespace {

constexpr std::size_t kMaxArguments = 1 << 20;

GuestDoor* the_door = nullptr;

void open_door(std::uint64_t address, std::uint64_t size, bool write) {
  if (the_door != nullptr && size != 0) the_door->open(address, size, write);
}

/// The string's bytes from `address` to the end of its page or of the chunk. `ended`: the NUL is among them.
/// Nothing on a bad address.
std::optional<std::size_t> read_piece(char (&chunk)[256], std::uint64_t address, bool& ended) {
  // Not past the end of a page: the string may end there and the next page be unmapped.
  const std::size_t size = std::min<std::uint64_t>(sizeof chunk, kPageBytes - (address & (kPageBytes - 1)));
  if (!copy_guest_bytes(chunk, reinterpret_cast<const void*>(address), size)) return std::nullopt;
  char* const end = std::find(chunk, chunk + size, '\0');
  ended = end != chunk + size;
  return static_cast<std::size_t>(end - chunk);
}

}  // namespace

void set_guest_door(GuestDoor* door) { the_door = door; }

bool copy_guest_bytes(void* to, const void* from, std::size_t size) {
  return elision_guarded_copy(to, from, size) == 0;
}

bool copy_from_guest(void* to, std::uint64_t from, std::size_t size) {
  open_door(from, size, false);
  return copy_guest_bytes(to, reinterpret_cast<const void*>(from), size);
}

bool copy_to_guest(std::uint64_t to, const void* from, std::size_t size) {
  open_door(to, size, true);
  return copy_guest_bytes(reinterpret_cast<void*>(to), from, size);
}

std::optional<std::uint32_t> compare_exchange_guest(std::uint64_t address, std::uint32_t expected,
                                                    std::uint32_t desired) {
  open_door(address, sizeof(std::uint32_t), true);
  std::uint32_t seen = 0;
  if (elision_guarded_exchange(address, expected, desired, &seen) != 0) return std::nullopt;
  return seen;
}

bool recover_guest_access(ucontext_t* context) {
  greg_t& rip = context->uc_mcontext.gregs[REG_RIP];
  const bool ours = rip == reinterpret_cast<greg_t>(elision_guarded_copy_access) ||
                    rip == reinterpret_cast<greg_t>(elision_guarded_exchange_access);
  if (ours) rip = reinterpret_cast<greg_t>(elision_guarded_failure);
  return ours;
}

/// Opens the door for the string's bytes alone, not for the rest of the chunk. Reads the string again behind
/// the door, where it may have changed.
std::optional<std::string> load_guest_string(std::uint64_t address, std::size_t limit) {
  std::string result;
  while (result.size() <= limit) {
    char chunk[256];
    bool ended = false;
    const auto expected = read_piece(chunk, address, ended);
    if (!expected) return std::nullopt;
    open_door(address, *expected + (ended ? 1 : 0), false);
    const auto length = read_piece(chunk, address, ended);
    if (!length || *length > *expected) continue;
    result.append(chunk, *length);
    if (ended) return result.size() <= limit ? std::optional(result) : std::nullopt;
    address += *length;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> load_guest_strings(std::uint64_t address) {
  std::vector<std::string> result;
  if (address == 0) return result;
  while (result.size() < kMaxArguments) {
    const auto pointer = load_guest<std::uint64_t>(address + 8 * result.size());
    if (!pointer) return std::nullopt;
    if (*pointer == 0) return result;
    auto text = load_guest_string(*pointer, 131072);  // MAX_ARG_STRLEN
    if (!text) return std::nullopt;
    result.push_back(std::move(*text));
  }
  return std::nullopt;
}

}  // namespace elision::vm
