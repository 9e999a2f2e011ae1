// SPDX-License-Identifier: Apache-2.0
// What the entry points share. The library hides every symbol that does not say ELISION_EXPORT.
#pragma once

#define ELISION_EXPORT extern "C" __attribute__((visibility("default"), used))
/// Under another name that glibc has too, for the libraries of long ago.
#define ELISION_OLD_NAME_OF(function) __attribute__((nonnull, alias(#function)))
/// The address in the program from which a lock function was called: what counters are kept by.
#define ELISION_CALL_SITE __builtin_extract_return_addr(__builtin_return_address(0))
