// SPDX-License-Identifier: Apache-2.0
// From the definitions of the command line to plain data.
#pragma once

#include "cli/texts/command_texts.h"

namespace CLI {
class App;
}

namespace elision::cli {

/// What a value of that name can be.
ValueText value_of(const std::string& name);

/// The options of `app`, in the order of its help.
std::vector<OptionText> options_of(const CLI::App& app);

/// All that is shown of the command line. Throws std::logic_error if a verb has no words for its manual page.
CommandTexts texts_of_command(const std::string& version, const std::string& date);

}  // namespace elision::cli
