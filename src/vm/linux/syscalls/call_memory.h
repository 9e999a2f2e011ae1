// SPDX-License-Identifier: Apache-2.0
// The guest memory that a system call reads and writes, as its row in the table (system_calls.cc) states it:
// one Memory for each pointer among the arguments.
//
// A row may state too much, never too little. Memory that the call does not reach costs at most a transaction
// of another CPU; memory that the row leaves out breaks the isolation of transactions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace elision::vm {

using CallArguments = std::uint64_t[6];

/// Guest memory that a call reads or writes.
struct GuestRange {
  enum class Extent : std::uint8_t {
    kWhole,     // all of it is read or written
    kByResult,  // written from the start; the call's result says how far
    kPerhaps,   // some part of it, or none
  };
  std::uint64_t address;
  std::uint64_t size;
  bool write;
  Extent extent;
};

struct GuestRanges {
  std::vector<GuestRange> list;
  std::uint64_t result_unit = 1;  // bytes for each unit of the call's result
  bool everything = false;        // the call may reach any memory

  void add(std::uint64_t address, std::uint64_t size, bool write,
           GuestRange::Extent extent = GuestRange::Extent::kWhole) {
    if (address != 0 && size != 0) list.push_back({address, size, write, extent});
  }
};

/// The memory behind one pointer argument.
struct Memory {
  enum class Kind : std::uint8_t {
    kBytes,        // `unit` bytes, times argument `count` if that is one
    kText,         // a string
    kValueResult,  // a buffer whose length is in the 32 bits that argument `count` points to; writes both
    kBits,         // a set of bits in words of 64; argument `count` has their number
    kPages,        // a byte for each page of a range; argument `count` has its size
    kDescribed,    // `describe` finds it
    kByHandler,    // the call's handler uses guest_memory.h for all of it
    kNotReached,   // an address that the call does not read or write at
  };
  static constexpr std::uint8_t kOnce = 0xff;

  Kind kind;
  std::uint8_t argument;
  std::uint8_t count = kOnce;
  bool write = false;
  GuestRange::Extent extent = GuestRange::Extent::kWhole;
  std::uint16_t unit = 1;
  void (*describe)(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) = nullptr;
};

/// The memory behind all pointers of a call, at most five.
class CallMemory {
 public:
  constexpr CallMemory(std::initializer_list<Memory> list) : count_(static_cast<unsigned>(list.size())) {
    unsigned i = 0;
    for (const Memory& memory : list) memory_[i++] = memory;
  }
  constexpr const Memory* begin() const { return memory_.data(); }
  constexpr const Memory* end() const { return memory_.data() + count_; }

 private:
  std::array<Memory, 5> memory_{};
  unsigned count_;
};

namespace memory {

using Extent = GuestRange::Extent;
using Kind = Memory::Kind;

/// `bytes` that the call reads or writes.
constexpr Memory in(std::uint8_t argument, std::uint16_t bytes) {
  return {Kind::kBytes, argument, Memory::kOnce, false, Extent::kWhole, bytes};
}
constexpr Memory out(std::uint8_t argument, std::uint16_t bytes) {
  return {Kind::kBytes, argument, Memory::kOnce, true, Extent::kWhole, bytes};
}
/// At most `bytes`, perhaps none: other arguments decide.
constexpr Memory perhaps_in(std::uint8_t argument, std::uint16_t bytes) {
  return {Kind::kBytes, argument, Memory::kOnce, false, Extent::kPerhaps, bytes};
}
constexpr Memory perhaps_out(std::uint8_t argument, std::uint16_t bytes) {
  return {Kind::kBytes, argument, Memory::kOnce, true, Extent::kPerhaps, bytes};
}
/// An array of elements of `unit` bytes; argument `count` has their number.
constexpr Memory in_each(std::uint8_t argument, std::uint8_t count, std::uint16_t unit) {
  return {Kind::kBytes, argument, count, false, Extent::kWhole, unit};
}
constexpr Memory out_each(std::uint8_t argument, std::uint8_t count, std::uint16_t unit) {
  return {Kind::kBytes, argument, count, true, Extent::kWhole, unit};
}
/// The same array, filled: the call's result says how many elements.
constexpr Memory filled_each(std::uint8_t argument, std::uint8_t count, std::uint16_t unit) {
  return {Kind::kBytes, argument, count, true, Extent::kByResult, unit};
}
constexpr Memory in_bytes(std::uint8_t argument, std::uint8_t count) { return in_each(argument, count, 1); }
constexpr Memory filled(std::uint8_t argument, std::uint8_t count) { return filled_each(argument, count, 1); }
constexpr Memory perhaps_out_bytes(std::uint8_t argument, std::uint8_t count) {
  return {Kind::kBytes, argument, count, true, Extent::kPerhaps, 1};
}
constexpr Memory text(std::uint8_t argument) { return {Kind::kText, argument}; }
constexpr Memory value_result(std::uint8_t argument, std::uint8_t length) {
  return {Kind::kValueResult, argument, length};
}
constexpr Memory in_bits(std::uint8_t argument, std::uint8_t count) {
  return {Kind::kBits, argument, count, false};
}
constexpr Memory out_bits(std::uint8_t argument, std::uint8_t count) {
  return {Kind::kBits, argument, count, true};
}
constexpr Memory out_pages(std::uint8_t argument, std::uint8_t bytes) {
  return {Kind::kPages, argument, bytes, true};
}
constexpr Memory by_handler(std::uint8_t argument) { return {Kind::kByHandler, argument}; }
constexpr Memory not_reached(std::uint8_t argument) { return {Kind::kNotReached, argument}; }

using Describe = void (*)(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
constexpr Memory described(std::uint8_t argument, Describe describe) {
  return {Kind::kDescribed, argument, Memory::kOnce, false, Extent::kWhole, 1, describe};
}

/// For described(). An array of iovec, whose length is the next argument: read, filled as far as the result
/// says, or either.
void vectors_in(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void vectors_filled(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void vectors_both(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
/// A msghdr; an array of mmsghdr, whose length is the next argument.
void message_sent(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void message_received(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void messages_sent(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void messages_received(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
/// A System V message: a long, then the number of bytes in the next argument.
void queue_message_in(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void queue_message_out(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
/// An argument whose meaning depends on the command.
void of_fcntl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void of_ioctl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void of_prctl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
void of_semctl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);
/// An argument of unknown meaning: may lead to any memory.
void unknown(const CallArguments& arguments, unsigned argument, GuestRanges& ranges);

}  // namespace memory

/// Adds the ranges of `memory` for these arguments. Reads lengths and vectors from guest memory, through the
/// door. Leaves out what it cannot read: the call will fail there too.
void resolve(const Memory& memory, const CallArguments& arguments, GuestRanges& ranges);

}  // namespace elision::vm
