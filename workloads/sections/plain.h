// SPDX-License-Identifier: Apache-2.0
// Accesses of a section that needs no help from software: it runs alone, under a lock, or as a transaction of
// the compiler's or the CPU's.
//
// A back end is a class for what all threads share. It has
//
//   kName                   its name on the command line (GccTm's is known to program.cc alone, which cannot
//   include it) kCountsAborts           whether Counts::aborts says something Transaction             what a
//   section accesses memory through: Plain, or a class with the same members Thread(shared)          a
//   thread's handle, made and used by that thread alone
//     atomically(body)      runs `body(transaction)` as one section, perhaps several times. A section sets
//     whatever it leaves behind in each
//                           run, has no objects with destructors, throws nothing, and calls only what GCC can
//                           instrument
//     counts                of the thread's sections so far
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace workloads::sections {

/// The size of a place, which may be a pointer.
template <class T>
inline constexpr std::size_t kSizeOf = sizeof(T);  // NOLINT(bugprone-sizeof-expression)

/// What a thread's sections came to.
struct Counts {
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;  // of a software transaction; what the CPU aborts, the lock library counts
  Counts& operator+=(const Counts& other) {
    commits += other.commits;
    aborts += other.aborts;
    return *this;
  }
};

/// The interface that every back end's transaction has. Shared places are numbers, pointers or enumerations
/// of at most eight bytes, and are always accessed as one type.
class Plain {
 public:
  template <class T>
  T read(const T& place) {
    return place;
  }
  template <class T>
  void write(T& place, std::type_identity_t<T> value) {
    place = value;
  }
  /// A read that may be stale: the commit does not depend on it. Who acts on it must read() again.
  template <class T>
  T peek(const T& place) {
    return place;
  }
  /// Memory for a T, and its construction, which no other thread sees before a write() publishes it. T needs
  /// no destructor. Null if there is none.
  template <class T, class... Arguments>
  T* make(Arguments... arguments) {
    static_assert(std::is_trivially_destructible_v<T>);
    void* const memory = std::malloc(kSizeOf<T>);
    return memory == nullptr ? nullptr : new (memory) T{arguments...};
  }
  /// The same for `number` values of T, all zero.
  template <class T>
  T* make_array(std::size_t number) {
    static_assert(std::is_trivial_v<T>);
    return static_cast<T*>(std::calloc(number, kSizeOf<T>));
  }
  /// Gives back what make() or make_array() returned, if the section commits.
  void release(void* memory) { std::free(memory); }
  /// Undoes the section and runs it again, when what was peeked at turned out to be stale. Here nothing ever
  /// is.
#ifndef __clang__
  [[gnu::transaction_pure]]
#endif
  [[noreturn]] void
  restart() {
    __builtin_trap();
  }
};

}  // namespace workloads::sections
