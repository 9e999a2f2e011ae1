// SPDX-License-Identifier: Apache-2.0
// Access to guest memory that survives a bad guest pointer, like Linux's copy_from_user.
//
// Guest addresses are host addresses, so a bad pointer faults in the host. The accesses are made by a few
// instructions at known addresses; the host's SIGSEGV and SIGBUS handler calls recover_guest_access(), which
// makes the access fail instead.
//
// Every access but copy_guest_bytes() goes through the door, if one is set: it ends the transactions of
// virtual CPUs that hold the memory. So no handler of a system call can forget to.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace elision::vm {

/// Called before the kernel reads or writes guest memory.
class GuestDoor {
 public:
  virtual void open(std::uint64_t address, std::uint64_t size, bool write) = 0;

 protected:
  ~GuestDoor() = default;
};

/// Null: no door, as in tests.
void set_guest_door(GuestDoor* door);

/// Copies `size` bytes without the door. False if a byte of either side is not accessible; a part may then be
/// copied. For code and reports, which end no transactions. The kernel uses the functions below.
bool copy_guest_bytes(void* to, const void* from, std::size_t size);

/// Copies `size` bytes from or to guest memory. False if a byte is not accessible; a part may then be copied.
[[nodiscard]] bool copy_from_guest(void* to, std::uint64_t from, std::size_t size);
[[nodiscard]] bool copy_to_guest(std::uint64_t to, const void* from, std::size_t size);

/// Replaces `*address` if it equals `expected`. Returns the value seen, nothing on a bad address. Atomic
/// against other processes that share the memory.
std::optional<std::uint32_t> compare_exchange_guest(std::uint64_t address, std::uint32_t expected,
                                                    std::uint32_t desired);

/// If one of the accesses above caused the fault, makes it fail and returns true. Async-signal-safe.
bool recover_guest_access(ucontext_t* context);

template <class T>
std::optional<T> load_guest(std::uint64_t address) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  if (!copy_from_guest(&value, address, sizeof value)) return std::nullopt;
  return value;
}

template <class T>
[[nodiscard]] bool store_guest(std::uint64_t address, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return copy_to_guest(address, &value, sizeof value);
}

/// A NUL-terminated string of at most `limit` bytes; nothing on a bad address or a longer string.
std::optional<std::string> load_guest_string(std::uint64_t address, std::size_t limit = 4096);

/// An argv-like array. A null `address` is an empty array, as in Linux.
std::optional<std::vector<std::string>> load_guest_strings(std::uint64_t address);

}  // namespace elision::vm
