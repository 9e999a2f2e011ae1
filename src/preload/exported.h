// SPDX-License-Identifier: Apache-2.0
// What the entry points share. The library hides every symbol that does not say ELISION_EXPORT.
#pragma once

#include "runtime/entry_points.h"

#define ELISION_EXPORT extern "C" __attribute__((visibility("default"), used))
/// `function` under the name with __ in front, which glibc has too, for the libraries of long ago.
#define ELISION_OLD_NAME_OF(function, Object) \
  ELISION_EXPORT int __##function(Object*) noexcept __attribute__((nonnull, alias(#function)))
/// The address in the program from which a lock function was called: what counters are kept by.
#define ELISION_CALL_SITE __builtin_extract_return_addr(__builtin_return_address(0))
/// pthread_NAME, of one argument, as the entry point NAME.
#define ELISION_FORWARD(name, Object)                                      \
  ELISION_EXPORT int pthread_##name(Object* object) {                      \
    return elision::runtime::entry_points.name(object, ELISION_CALL_SITE); \
  }
