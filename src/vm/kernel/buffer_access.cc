// SPDX-License-Identifier: Apache-2.0
// A buffer that the host fills is announced up to one page before the call and the rest of what was
// really filled after it: a short read into a large buffer does not touch the whole of it.
#include "vm/kernel/buffer_access.h"

#include <sys/syscall.h>

#include <algorithm>

namespace elision::vm {
namespace {

enum class Length : std::uint8_t { kFixed, kArgument, kCount, kFilled };

struct Buffer {
  std::uint16_t number;
  std::uint8_t address;  // argument that holds it
  bool write;            // by the host
  Length kind;
  std::uint16_t
      value;  // kFixed: bytes; kArgument, kFilled: argument with the bytes; kCount: bytes an element
  std::uint8_t count = 0;  // kCount: argument with the number of elements
};

constexpr std::uint64_t kAnnouncedBefore = kPageBytes;
constexpr std::uint64_t kMostAnnounced = 1u << 20;

constexpr Buffer kBuffers[] = {
    {SYS_clock_gettime, 1, true, Length::kFixed, 16}, {SYS_epoll_wait, 1, true, Length::kCount, 12, 2},
    {SYS_fstat, 1, true, Length::kFixed, 144},        {SYS_getcwd, 0, true, Length::kFilled, 1},
    {SYS_getdents64, 1, true, Length::kFilled, 2},    {SYS_getrandom, 0, true, Length::kFilled, 1},
    {SYS_getrusage, 1, true, Length::kFixed, 144},    {SYS_gettimeofday, 0, true, Length::kFixed, 16},
    {SYS_lstat, 1, true, Length::kFixed, 144},        {SYS_nanosleep, 0, false, Length::kFixed, 16},
    {SYS_newfstatat, 2, true, Length::kFixed, 144},   {SYS_pipe, 0, true, Length::kFixed, 8},
    {SYS_pipe2, 0, true, Length::kFixed, 8},          {SYS_poll, 0, true, Length::kCount, 8, 1},
    {SYS_ppoll, 0, true, Length::kCount, 8, 1},       {SYS_pread64, 1, true, Length::kFilled, 2},
    {SYS_pwrite64, 1, false, Length::kArgument, 2},   {SYS_read, 1, true, Length::kFilled, 2},
    {SYS_readlink, 1, true, Length::kFilled, 2},      {SYS_recvfrom, 1, true, Length::kFilled, 2},
    {SYS_sendto, 1, false, Length::kArgument, 2},     {SYS_stat, 1, true, Length::kFixed, 144},
    {SYS_statx, 4, true, Length::kFixed, 256},        {SYS_write, 1, false, Length::kArgument, 2},
};

const Buffer* find_buffer(const Call& call) {
  if (call.process.threads.size() < 2) return nullptr;
  const auto* const found = std::find_if(std::begin(kBuffers), std::end(kBuffers),
                                         [&](const Buffer& buffer) { return buffer.number == call.number; });
  return found == std::end(kBuffers) || call[found->address] == 0 ? nullptr : found;
}

std::uint64_t bytes_before(const Call& call, const Buffer& buffer) {
  switch (buffer.kind) {
    case Length::kFixed:
      return buffer.value;
    case Length::kArgument:
      return std::min(call[buffer.value], kMostAnnounced);
    case Length::kCount:
      return std::min(call[buffer.count] * buffer.value, kAnnouncedBefore);
    default:
      return std::min(call[buffer.value], kAnnouncedBefore);
  }
}

}  // namespace

void announce_buffers(Call& call) {
  const Buffer* const buffer = find_buffer(call);
  if (buffer == nullptr) return;
  const std::uint64_t size = bytes_before(call, *buffer);
  if (size != 0) call.services().host_access(call.thread(), call[buffer->address], size, buffer->write);
}

void announce_result(Call& call, long result) {
  const Buffer* const buffer = find_buffer(call);
  if (buffer == nullptr || buffer->kind != Length::kFilled || result <= static_cast<long>(kAnnouncedBefore))
    return;
  const std::uint64_t rest = std::min(static_cast<std::uint64_t>(result), kMostAnnounced) - kAnnouncedBefore;
  call.services().host_access(call.thread(), call[buffer->address] + kAnnouncedBefore, rest, true);
}

}  // namespace elision::vm
