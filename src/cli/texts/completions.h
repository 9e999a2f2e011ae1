// SPDX-License-Identifier: Apache-2.0
// What shells offer at the Tab key: verbs, options and their values, and behind "--" the program's own words.
#pragma once

#include <string>

#include "cli/texts/command_texts.h"

namespace elision::cli {

std::string bash_completion(const CommandTexts& texts);
std::string zsh_completion(const CommandTexts& texts);
std::string fish_completion(const CommandTexts& texts);

/// `text` as one word of bash, zsh and fish alike: in single quotes.
std::string shell_quoted(const std::string& text);

}  // namespace elision::cli
