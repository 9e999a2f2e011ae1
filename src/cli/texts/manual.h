// SPDX-License-Identifier: Apache-2.0
// Manual pages, in the language of man(7).
#pragma once

#include <string>

#include "cli/texts/command_texts.h"

namespace elision::cli {

/// elision(1).
std::string manual_of_command(const CommandTexts& texts);

/// elision-VERB(1).
std::string manual_of_verb(const CommandTexts& texts, const VerbText& verb);

}  // namespace elision::cli
