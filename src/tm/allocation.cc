// SPDX-License-Identifier: Apache-2.0
// Memory in transactions. What a transaction allocates is given back if it is cancelled. What it frees is
// freed after its commit, when no other transaction can hold a pointer to it. An aborted hardware
// transaction leaves no trace of either: the allocator's state is memory too.
//
// The C++ library's operators are weak: a C program has none.
#include <stdlib.h>

#include "tm/exceptions.h"
#include "tm/exported.h"

namespace std {
struct nothrow_t;
}

extern "C" {
[[gnu::weak]] void* _Znwm(std::size_t);
[[gnu::weak]] void* _Znam(std::size_t);
[[gnu::weak]] void* _ZnwmRKSt9nothrow_t(std::size_t, const std::nothrow_t*);
[[gnu::weak]] void* _ZnamRKSt9nothrow_t(std::size_t, const std::nothrow_t*);
[[gnu::weak]] void _ZdlPv(void*);
[[gnu::weak]] void _ZdaPv(void*);
[[gnu::weak]] void _ZdlPvm(void*, std::size_t);
[[gnu::weak]] void _ZdlPvRKSt9nothrow_t(void*, const std::nothrow_t*);
[[gnu::weak]] void _ZdaPvRKSt9nothrow_t(void*, const std::nothrow_t*);
[[gnu::weak]] void* __cxa_allocate_exception(std::size_t);
[[gnu::weak]] void __cxa_free_exception(void*);
}

namespace elision::tm {
namespace {

const char nothrow_place{};
const std::nothrow_t* nothrow() { return reinterpret_cast<const std::nothrow_t*>(&nothrow_place); }

void free_memory(void* memory, std::size_t) { free(memory); }
void free_exception(void* memory, std::size_t) { __cxa_free_exception(memory); }
void delete_one(void* memory, std::size_t) { _ZdlPv(memory); }
void delete_array(void* memory, std::size_t) { _ZdaPv(memory); }
void delete_one_nothrow(void* memory, std::size_t) { _ZdlPvRKSt9nothrow_t(memory, nothrow()); }
void delete_array_nothrow(void* memory, std::size_t) { _ZdaPvRKSt9nothrow_t(memory, nothrow()); }

/// The function, which the program has if it calls this library for it.
template <class Function>
Function* needed(Function* function) {
  if (function == nullptr) [[unlikely]]
    fail("a C++ transaction runs without the C++ library");
  return function;
}

void* note_allocated(void* memory, std::size_t bytes, void (*function)(void*, std::size_t)) {
  Thread& thread = this_thread;
  if (memory == nullptr) return memory;
  if (thread.barriers == Barriers::kUndone) thread.logs->allocated.push({memory, function, 0});
  if (thread.barriers == Barriers::kBuffered) thread.logs->fresh.note(memory, bytes);
  return memory;
}

void free_later(void* memory, void (*function)(void*, std::size_t), std::size_t size = 0) {
  if (memory == nullptr) return;
  Thread& thread = this_thread;
  if (!is_inside(thread)) return function(memory, size);
  thread.logs->freed.push({memory, function, size});
  thread.has_pending = true;
}

}  // namespace

void keep_allocated(void* memory) {
  Thread& thread = this_thread;
  if (thread.barriers != Barriers::kUndone) return;
  Array<Deallocation>& allocated = thread.logs->allocated;
  for (std::size_t i = allocated.size(); i > 0; --i) {
    if (allocated[i - 1].memory != memory) continue;
    allocated[i - 1].memory = nullptr;
    return;
  }
}

ELISION_TM_EXPORT void* _ITM_malloc(std::size_t size) {
  return note_allocated(malloc(size), size, free_memory);
}
ELISION_TM_EXPORT void* _ITM_calloc(std::size_t count, std::size_t size) {
  return note_allocated(calloc(count, size), count * size, free_memory);
}
ELISION_TM_EXPORT void _ITM_free(void* memory) { free_later(memory, free_memory); }

ELISION_TM_EXPORT void* _ZGTtnwm(std::size_t size) {
  return note_allocated(needed(_Znwm)(size), size, delete_one);
}
ELISION_TM_EXPORT void* _ZGTtnam(std::size_t size) {
  return note_allocated(needed(_Znam)(size), size, delete_array);
}
ELISION_TM_EXPORT void* _ZGTtnwmRKSt9nothrow_t(std::size_t size, const std::nothrow_t*) {
  return note_allocated(needed(_ZnwmRKSt9nothrow_t)(size, nothrow()), size, delete_one_nothrow);
}
ELISION_TM_EXPORT void* _ZGTtnamRKSt9nothrow_t(std::size_t size, const std::nothrow_t*) {
  return note_allocated(needed(_ZnamRKSt9nothrow_t)(size, nothrow()), size, delete_array_nothrow);
}
ELISION_TM_EXPORT void _ZGTtdlPv(void* memory) { free_later(memory, delete_one); }
ELISION_TM_EXPORT void _ZGTtdaPv(void* memory) { free_later(memory, delete_array); }
ELISION_TM_EXPORT void _ZGTtdlPvRKSt9nothrow_t(void* memory, const std::nothrow_t*) {
  free_later(memory, delete_one_nothrow);
}
ELISION_TM_EXPORT void _ZGTtdaPvRKSt9nothrow_t(void* memory, const std::nothrow_t*) {
  free_later(memory, delete_array_nothrow);
}
ELISION_TM_EXPORT void _ZGTtdlPvm(void* memory, std::size_t size) {
  free_later(memory, needed(_ZdlPvm), size);
}
ELISION_TM_EXPORT void _ZGTtdlPvmRKSt9nothrow_t(void* memory, std::size_t size, const std::nothrow_t*) {
  free_later(memory, needed(_ZdlPvm), size);
}

ELISION_TM_EXPORT void* _ITM_cxa_allocate_exception(std::size_t size) {
  return note_allocated(needed(__cxa_allocate_exception)(size), size, free_exception);
}
ELISION_TM_EXPORT void _ITM_cxa_free_exception(void* exception) { free_later(exception, free_exception); }

}  // namespace elision::tm
