// SPDX-License-Identifier: Apache-2.0
#include "tm/exceptions.h"

#include "tm/exported.h"

namespace {

/// What __cxa_get_globals returns (Itanium C++ ABI, exception handling, 2.2.2).
struct Globals {
  void* caught;
  std::uint32_t uncaught;
};

}  // namespace

extern "C" {
[[gnu::weak]] Globals* __cxa_get_globals();
[[gnu::weak]] void* __cxa_begin_catch(void*);
[[gnu::weak]] void __cxa_end_catch();
[[gnu::weak, noreturn]] void __cxa_throw(void*, void*, void (*)(void*));
/// libstdc++'s: frees an exception that was not thrown, and ends handlers without destructors.
[[gnu::weak]] void __cxa_tm_cleanup(void* unthrown, void* cleaned_up, std::uint32_t caught);
}

namespace elision::tm {

std::uint32_t uncaught_exceptions() {
  return __cxa_get_globals != nullptr ? __cxa_get_globals()->uncaught : 0;
}

void revert_exceptions(std::uint32_t caught, std::uint32_t uncaught) {
  if (__cxa_get_globals == nullptr) return;
  if (caught != 0 && __cxa_tm_cleanup != nullptr) __cxa_tm_cleanup(nullptr, nullptr, caught);
  __cxa_get_globals()->uncaught = uncaught;
}

}  // namespace elision::tm

/// The unwinder and the handler's personality read the exception without barriers.
ELISION_TM_EXPORT void _ITM_cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
  elision::tm::Thread& thread = elision::tm::this_thread;
  if (thread.path == elision::tm::Path::kFallback) become_serial(thread);
  __cxa_throw(exception, type, destroy);
}

/// From here on the handler gives the exception back.
ELISION_TM_EXPORT void* _ITM_cxa_begin_catch(void* exception) {
  elision::tm::keep_allocated(exception);
  ++elision::tm::this_thread.caught;
  return __cxa_begin_catch(exception);
}

ELISION_TM_EXPORT void _ITM_cxa_end_catch() {
  --elision::tm::this_thread.caught;
  __cxa_end_catch();
}
