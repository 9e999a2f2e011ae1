// SPDX-License-Identifier: Apache-2.0
// Mutation of texts that are lines of words: most texts that this makes get behind the first check of their
// reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

struct TextKind {
  char line_end = '\n';
  std::string between_words;       // the bytes that belong to no word, beside the line's end
  std::vector<std::string> words;  // what a word may be replaced by
};

/// Puts another word, number, line or byte somewhere. Takes and returns what LLVMFuzzerCustomMutator does.
std::size_t mutate_text(const TextKind& kind, std::uint8_t* data, std::size_t size, std::size_t most,
                        unsigned seed);

}  // namespace fuzz
