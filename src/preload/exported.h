// SPDX-License-Identifier: Apache-2.0
// Macros of the exported functions. Only symbols with ELISION_EXPORT are visible.
#pragma once

#include "locks/activity.h"
#include "runtime/entry_points.h"

#define ELISION_EXPORT extern "C" __attribute__((visibility("default"), used))
/// Exports `function` also with __ in front of its name, as glibc does for very old libraries.
#define ELISION_OLD_NAME_OF(function, Object) \
  ELISION_EXPORT int __##function(Object*) noexcept __attribute__((nonnull, alias(#function)))
/// Defines pthread_NAME, of one argument, by the entry point NAME.
#define ELISION_FORWARD(name, Object)                                      \
  ELISION_EXPORT int pthread_##name(Object* object) {                      \
    return elision::runtime::entry_points.name(object, ELISION_CALL_SITE); \
  }
