// SPDX-License-Identifier: Apache-2.0
// What only a manual page says of a verb: more about it, exit codes, examples, variables.
#pragma once

#include "cli/texts/command_texts.h"

namespace elision::cli {

/// The words of a verb, or with "" those of the whole command. Throws std::logic_error if it has none.
ManualWords manual_words(const std::string& verb);

}  // namespace elision::cli
