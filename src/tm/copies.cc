// SPDX-License-Identifier: Apache-2.0
// memcpy, memmove and memset in transactions. Rt and Wt sides go through barriers, Rn and Wn sides are
// memory of the thread alone. A move through the write log goes piece by piece, in the direction that never
// reads what it has written.
#include "tm/access.h"
#include "tm/bytes.h"
#include "tm/exported.h"

namespace elision::tm {
namespace {

constexpr std::size_t kPieceBytes = 64;

struct Sides {
  bool reads;   // the source goes through barriers
  bool writes;  // the destination does
};

void copy_piece(Thread& thread, char* to, const char* from, std::size_t bytes, Sides sides) {
  char piece[kPieceBytes];
  if (sides.reads) {
    read_buffered(thread, from, piece, bytes);
  } else {
    move_bytes(piece, from, bytes);
  }
  if (sides.writes) {
    write_buffered(thread, to, piece, bytes);
  } else {
    move_bytes(to, piece, bytes);
  }
}

[[gnu::noinline]] void copy_buffered(Thread& thread, char* to, const char* from, std::size_t bytes,
                                     Sides sides) {
  if (to <= from || to >= from + bytes) {
    for (std::size_t at = 0; at < bytes; at += kPieceBytes)
      copy_piece(thread, to + at, from + at, bytes - at < kPieceBytes ? bytes - at : kPieceBytes, sides);
    return;
  }
  while (bytes > 0) {
    const std::size_t piece = bytes < kPieceBytes ? bytes : kPieceBytes;
    bytes -= piece;
    copy_piece(thread, to + bytes, from + bytes, piece, sides);
  }
}

void* copy(void* to, const void* from, std::size_t bytes, Sides sides) {
  Thread& thread = this_thread;
  if (bytes == 0) return to;
  if (thread.barriers == Barriers::kBuffered) {
    copy_buffered(thread, static_cast<char*>(to), static_cast<const char*>(from), bytes, sides);
    return to;
  }
  if (sides.writes) before_direct_write(thread, to, bytes);
  move_bytes(to, from, bytes);
  return to;
}

void* set(void* to, int value, std::size_t bytes) {
  Thread& thread = this_thread;
  if (bytes == 0) return to;
  if (thread.barriers != Barriers::kBuffered) {
    before_direct_write(thread, to, bytes);
    set_bytes(to, value, bytes);
    return to;
  }
  char piece[kPieceBytes];
  set_bytes(piece, value, sizeof piece);
  for (std::size_t at = 0; at < bytes; at += kPieceBytes)
    write_buffered(thread, static_cast<char*>(to) + at, piece,
                   bytes - at < kPieceBytes ? bytes - at : kPieceBytes);
  return to;
}

}  // namespace
}  // namespace elision::tm

#define ELISION_TM_COPY(sides, reads, writes)                                                  \
  ELISION_TM_EXPORT void* _ITM_memcpy##sides(void* to, const void* from, std::size_t bytes) {  \
    return elision::tm::copy(to, from, bytes, {reads, writes});                                \
  }                                                                                            \
  ELISION_TM_EXPORT void* _ITM_memmove##sides(void* to, const void* from, std::size_t bytes) { \
    return elision::tm::copy(to, from, bytes, {reads, writes});                                \
  }
#define ELISION_TM_SET(name)                                                          \
  ELISION_TM_EXPORT void* _ITM_memset##name(void* to, int value, std::size_t bytes) { \
    return elision::tm::set(to, value, bytes);                                        \
  }

ELISION_TM_COPY(RnWt, false, true)
ELISION_TM_COPY(RnWtaR, false, true)
ELISION_TM_COPY(RnWtaW, false, true)
ELISION_TM_COPY(RtWn, true, false)
ELISION_TM_COPY(RtWt, true, true)
ELISION_TM_COPY(RtWtaR, true, true)
ELISION_TM_COPY(RtWtaW, true, true)
ELISION_TM_COPY(RtaRWn, true, false)
ELISION_TM_COPY(RtaRWt, true, true)
ELISION_TM_COPY(RtaRWtaR, true, true)
ELISION_TM_COPY(RtaRWtaW, true, true)
ELISION_TM_COPY(RtaWWn, true, false)
ELISION_TM_COPY(RtaWWt, true, true)
ELISION_TM_COPY(RtaWWtaR, true, true)
ELISION_TM_COPY(RtaWWtaW, true, true)
ELISION_TM_SET(W)
ELISION_TM_SET(WaR)
ELISION_TM_SET(WaW)
