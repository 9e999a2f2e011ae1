// SPDX-License-Identifier: Apache-2.0
// Exceptions in transactions. The C++ library's functions are weak: a C program has none.
#pragma once

#include <cstdint>

namespace elision::tm {

/// The number of exceptions in flight in the calling thread.
std::uint32_t uncaught_exceptions();

/// At a cancel: ends the `caught` handlers that began since, and sets the number in flight.
void revert_exceptions(std::uint32_t caught, std::uint32_t uncaught);

/// A cancel does not give the memory back any more (allocation.cc).
void keep_allocated(void* memory);

}  // namespace elision::tm
