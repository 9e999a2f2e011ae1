// SPDX-License-Identifier: Apache-2.0
// Facts from the kernel's files, below a root that tests replace.
#pragma once

#include <filesystem>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

KernelFacts read_kernel(const std::filesystem::path& root = "/");

}  // namespace elision::cli::doctor
