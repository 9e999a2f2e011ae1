// SPDX-License-Identifier: Apache-2.0
// Sizes are those of Linux's structures on x86-64 (include/uapi).
#include "vm/linux/syscalls/call_memory.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "vm/host/guest_memory.h"
#include "vm/host/host_call.h"
#include "vm/linux/memory/region_map.h"

namespace elision::vm {
namespace {

using Extent = GuestRange::Extent;

constexpr std::uint64_t kMaxVectors = 1024;
constexpr std::uint64_t kLongestPath = 4096;

std::uint64_t word_bytes(std::uint64_t bits) { return (bits + 63) / 64 * 8; }

/// load_guest_string() opens the door for the string.
void resolve_text(std::uint64_t address, GuestRanges& ranges) {
  if (address == 0) return;
  const auto text = load_guest_string(address, kLongestPath);
  if (text) ranges.add(address, text->size() + 1, false);
}

void resolve_value_result(std::uint64_t address, std::uint64_t length_address, GuestRanges& ranges) {
  if (length_address == 0) return;
  ranges.add(length_address, sizeof(std::uint32_t), true);
  const auto length = load_guest<std::uint32_t>(length_address);
  if (length && static_cast<std::int32_t>(*length) > 0) ranges.add(address, *length, true, Extent::kPerhaps);
}

std::uint64_t size_of(const Memory& memory, const CallArguments& arguments) {
  const std::uint64_t count = memory.count == Memory::kOnce ? 1 : arguments[memory.count];
  switch (memory.kind) {
    case Memory::Kind::kBits:
      return word_bytes(static_cast<std::uint32_t>(count));
    case Memory::Kind::kPages:
      return (count + kPageBytes - 1) / kPageBytes;
    default:
      return count > ~std::uint64_t{0} / memory.unit ? ~std::uint64_t{0} : count * memory.unit;
  }
}

void add_vectors(std::uint64_t address, std::uint64_t count, bool write, Extent extent, GuestRanges& ranges) {
  if (count > kMaxVectors) return;
  std::vector<iovec> vectors(count);
  if (!copy_from_guest(vectors.data(), address, count * sizeof(iovec))) return;
  for (const iovec& vector : vectors)
    ranges.add(reinterpret_cast<std::uint64_t>(vector.iov_base), vector.iov_len, write, extent);
}

void add_message(const msghdr& message, bool received, Extent extent, GuestRanges& ranges) {
  const Extent rest = received ? Extent::kPerhaps : Extent::kWhole;
  ranges.add(reinterpret_cast<std::uint64_t>(message.msg_name), message.msg_namelen, received, rest);
  ranges.add(reinterpret_cast<std::uint64_t>(message.msg_control), message.msg_controllen, received, rest);
  add_vectors(reinterpret_cast<std::uint64_t>(message.msg_iov), message.msg_iovlen, received, extent, ranges);
}

void add_messages(const CallArguments& arguments, unsigned argument, bool received, GuestRanges& ranges) {
  const std::uint64_t count =
      std::min<std::uint64_t>(static_cast<std::uint32_t>(arguments[argument + 1]), 1024);
  ranges.add(arguments[argument], count * sizeof(mmsghdr), true);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto header = load_guest<mmsghdr>(arguments[argument] + i * sizeof(mmsghdr));
    if (!header) return;
    add_message(header->msg_hdr, received, received ? Extent::kPerhaps : Extent::kWhole, ranges);
  }
}

/// Requests whose number does not tell the size of their structure: old ones, and exceptions. 0 bytes: the
/// argument is a number.
constexpr struct {
  std::uint32_t request;
  std::uint16_t bytes;
} kOldRequests[] = {
    {0x5401, 36}, {0x5402, 36}, {0x5403, 36}, {0x5404, 36},  // TCGETS, TCSETS...
    {0x5405, 18}, {0x5406, 18}, {0x5407, 18}, {0x5408, 18},  // TCGETA...
    {0x5409, 0},  {0x540a, 0},  {0x540b, 0},  {0x540c, 0},   // TCSBRK, TCXONC, TCFLSH, TIOCEXCL
    {0x540d, 0},  {0x540e, 0},  {0x540f, 4},  {0x5410, 4},   // TIOCNXCL, TIOCSCTTY, TIOC[GS]PGRP
    {0x5411, 4},  {0x5412, 1},  {0x5413, 8},  {0x5414, 8},   // TIOCOUTQ, TIOCSTI, TIOC[GS]WINSZ
    {0x5415, 4},  {0x5416, 4},  {0x5417, 4},  {0x5418, 4},   // TIOCM*
    {0x5419, 4},  {0x541a, 4},  {0x541b, 4},  {0x541e, 72},  // TIOC[GS]SOFTCAR, FIONREAD, TIOCGSERIAL
    {0x541f, 72}, {0x5420, 4},  {0x5421, 4},  {0x5422, 0},   // TIOCSSERIAL, TIOCPKT, FIONBIO, TIOCNOTTY
    {0x5423, 4},  {0x5424, 4},  {0x5425, 0},  {0x5427, 0},   // TIOC[SG]ETD, TCSBRKP, TIOCSBRK
    {0x5428, 0},  {0x5429, 4},  {0x5450, 0},  {0x5451, 0},   // TIOCCBRK, TIOCGSID, FIO[N]CLEX
    {0x5452, 4},  {0x5460, 8},  {0x8901, 4},  {0x8902, 4},   // FIOASYNC, FIOQSIZE, FIOSETOWN, SIOCSPGRP
    {0x8903, 4},  {0x8904, 4},  {0x8905, 4},  {0x8906, 16},  // FIOGETOWN, SIOCGPGRP, SIOCATMARK, SIOCGSTAMP
    {0x8907, 16},
};

/// Types of requests (bits 8 to 15) whose structures hold no pointers and have the size that the number
/// tells.
bool is_flat(std::uint32_t request) {
  constexpr std::uint32_t kFileMap = 0xc020660b;  // FS_IOC_FIEMAP: an array follows
  const std::uint32_t type = request >> 8 & 0xff;
  return request != kFileMap && (type == 'T' || type == 'f' || type == 'v' || type == 'X' || type == 'R');
}

}  // namespace

namespace memory {

void vectors_in(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  add_vectors(arguments[argument], arguments[argument + 1], false, Extent::kWhole, ranges);
}
void vectors_filled(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  add_vectors(arguments[argument], arguments[argument + 1], true, Extent::kByResult, ranges);
}
void vectors_both(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  add_vectors(arguments[argument], arguments[argument + 1], true, Extent::kPerhaps, ranges);
}

void message_sent(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  const auto message = load_guest<msghdr>(arguments[argument]);
  if (message) add_message(*message, false, Extent::kWhole, ranges);
}
/// The call also writes the header's lengths and flags.
void message_received(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  ranges.add(arguments[argument], sizeof(msghdr), true);
  const auto message = load_guest<msghdr>(arguments[argument]);
  if (message) add_message(*message, true, Extent::kByResult, ranges);
}
void messages_sent(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  add_messages(arguments, argument, false, ranges);
}
void messages_received(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  add_messages(arguments, argument, true, ranges);
}

void queue_message_in(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  if (arguments[argument + 1] <= ~std::uint64_t{0} - sizeof(long))
    ranges.add(arguments[argument], sizeof(long) + arguments[argument + 1], false);
}
void queue_message_out(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  ranges.add(arguments[argument], sizeof(long), true);
  ranges.add(arguments[argument] + sizeof(long), arguments[argument + 1], true, Extent::kByResult);
}

void of_fcntl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  constexpr int kSetOwner = 15, kGetOwner = 16, kGetOwnerUsers = 17;
  constexpr int kFirstHint = 1024 + 11, kLastHint = 1024 + 14;  // F_GET_RW_HINT to F_SET_FILE_RW_HINT
  const int command = static_cast<int>(arguments[1]);
  const bool is_lock = command == F_GETLK || command == F_SETLK || command == F_SETLKW ||
                       command == F_OFD_GETLK || command == F_OFD_SETLK || command == F_OFD_SETLKW;
  const bool is_short = command == kSetOwner || command == kGetOwner || command == kGetOwnerUsers ||
                        (command >= kFirstHint && command <= kLastHint);
  if (is_lock) ranges.add(arguments[argument], sizeof(struct flock), true);
  if (is_short) ranges.add(arguments[argument], 8, true);
}

void of_ioctl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  const auto request = static_cast<std::uint32_t>(arguments[1]);
  const auto* const old = std::find_if(std::begin(kOldRequests), std::end(kOldRequests),
                                       [&](const auto& entry) { return entry.request == request; });
  if (old != std::end(kOldRequests)) return ranges.add(arguments[argument], old->bytes, true);
  if (!is_flat(request)) return unknown(arguments, argument, ranges);
  ranges.add(arguments[argument], request >> 16 & 0x3fff, true);
}

void of_prctl(const CallArguments& arguments, unsigned, GuestRanges& ranges) {
  constexpr int kSchedulerCore = 62, kSetVmaName = 0x53564d41;
  switch (static_cast<int>(arguments[0])) {
    case PR_GET_PDEATHSIG:
    case PR_GET_UNALIGN:
    case PR_GET_FPEMU:
    case PR_GET_FPEXC:
    case PR_GET_ENDIAN:
    case PR_GET_TSC:
    case PR_GET_CHILD_SUBREAPER:
      return ranges.add(arguments[1], sizeof(int), true);
    case kSchedulerCore:
      return ranges.add(arguments[4], 8, true, Extent::kPerhaps);
    case kSetVmaName:
      return resolve_text(arguments[4], ranges);
    default:
      return;
  }
}

void of_semctl(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  constexpr int kNewStructures = 0x100;  // IPC_64
  const int command = static_cast<int>(arguments[2]) & ~kNewStructures;
  if (command == IPC_STAT || command == IPC_SET || command == IPC_INFO || command == SEM_STAT ||
      command == SEM_INFO || command == 20 /* SEM_STAT_ANY */)
    return ranges.add(arguments[argument], sizeof(semid_ds), true, Extent::kPerhaps);
  if (command != GETALL && command != SETALL) return;
  semid_ds status{};
  if (host_call(SYS_semctl, arguments[0], 0, IPC_STAT, reinterpret_cast<std::uint64_t>(&status)) == 0)
    ranges.add(arguments[argument], status.sem_nsems * sizeof(std::uint16_t), command == GETALL);
}

void unknown(const CallArguments& arguments, unsigned argument, GuestRanges& ranges) {
  if (arguments[argument] >= kPageBytes) ranges.everything = true;
}

}  // namespace memory

void resolve(const Memory& memory, const CallArguments& arguments, GuestRanges& ranges) {
  const std::uint64_t address = arguments[memory.argument];
  switch (memory.kind) {
    case Memory::Kind::kByHandler:
    case Memory::Kind::kNotReached:
      return;
    case Memory::Kind::kText:
      return resolve_text(address, ranges);
    case Memory::Kind::kValueResult:
      return resolve_value_result(address, arguments[memory.count], ranges);
    case Memory::Kind::kDescribed:
      return memory.describe(arguments, memory.argument, ranges);
    default:
      if (memory.extent == Extent::kByResult) ranges.result_unit = memory.unit;
      return ranges.add(address, size_of(memory, arguments), memory.write, memory.extent);
  }
}

}  // namespace elision::vm
