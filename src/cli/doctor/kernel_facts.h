// SPDX-License-Identifier: Apache-2.0
// What the kernel's files say. All of them lie below a root that tests replace.
#pragma once

#include <filesystem>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

KernelFacts read_kernel(const std::filesystem::path& root = "/");

}  // namespace elision::cli::doctor
