// SPDX-License-Identifier: Apache-2.0
// Memory accesses of a section that needs no help from software: it runs alone, under a lock, or as a
// transaction of the compiler or the CPU.
//
// A back end is a class, an object of which all threads share. It has
//
//   kName               its name on the command line (of GccTm in program.cc)
//   kCountsAborts       whether Counts::aborts means something
//   Transaction         the section's way to memory: Plain, or a class with the same members
//   Thread(shared)      a thread's handle, which the thread makes and uses itself
//     atomically(body)  runs `body(transaction)` as one section, perhaps several times
//     counts            of the thread's sections so far
//
// A body sets its results in each run. It has no objects with destructors, throws nothing, and calls only
// what GCC can instrument.
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

/// Sections of a thread by how they ended.
struct Counts {
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;  // of software transactions; the lock library counts those of the CPU
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
  /// A read that may be stale: the commit does not depend on it. Before the section acts on the value, it
  /// must read() the place.
  template <class T>
  T peek(const T& place) {
    return place;
  }
  /// Allocates and constructs a T, which no other thread sees before a write() publishes it. T needs no
  /// destructor. Returns null if memory is exhausted. Arguments go by reference: GCC copies an aggregate that
  /// is passed by value without barriers.
  template <class T, class... Arguments>
  T* make(const Arguments&... arguments) {
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
  /// Frees what make() or make_array() returned, if the section commits.
  void release(void* memory) { std::free(memory); }
  /// Undoes the section and runs it again, because a value from peek() was stale. Values from this class
  /// never are.
#ifndef __clang__
  [[gnu::transaction_pure]]
#endif
  [[noreturn]] void
  restart() {
    __builtin_trap();
  }
};

}  // namespace workloads::sections
