// SPDX-License-Identifier: Apache-2.0
#include "vm/kernel/system_call_names.h"

#include <iterator>

namespace elision::vm {
namespace {

// One name a number, in order of numbers; null where there is none.
constexpr const char* kNames[] = {
#include "vm/kernel/system_call_names.inc"
};

}  // namespace

const char* system_call_name(std::uint64_t number) {
  return number < std::size(kNames) ? kNames[number] : nullptr;
}

}  // namespace elision::vm
