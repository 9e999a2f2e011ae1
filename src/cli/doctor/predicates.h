// SPDX-License-Identifier: Apache-2.0
// Questions about facts that causes, notes and advice share. Pure.
#pragma once

#include <optional>
#include <string>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// The vulnerability file's words where the kernel switched TSX off.
inline constexpr const char* kTsxDisabled = "Mitigation: TSX disabled";

/// Whether ELISION_HIDE_RTM takes RTM that CPUID shows from Elision.
bool is_hidden(const Facts& f);

bool any_commit(const Facts& f);

/// Fewer than a CPU of its own would commit.
bool few_commit(const Facts& f);

/// By the kernel's word.
bool open_to_taa(const Facts& f);

/// Whether tsx= is a word that the kernel knows.
bool knows_tsx_word(const Facts& f);

/// What tsx= amounts to: an unknown word is "off" to the kernel. Nothing without the parameter.
std::optional<std::string> asked_tsx(const Facts& f);

/// Whether the kernel says that it switched TSX off, or was told to on a CPU that has it.
bool kernel_switched_off(const Facts& f);

/// Whether the kernel, not being asked, leaves TSX off even on a CPU that is not open to TAA.
bool off_by_default(const Facts& f);

bool on_ec2(const Facts& f);

}  // namespace elision::cli::doctor
