// SPDX-License-Identifier: Apache-2.0
// The mutator of fuzzers over texts that are lines of words (LLVMFuzzerCustomMutator): it puts another word,
// number, line or byte somewhere. Most texts that this makes get behind the first check of their reader.
#pragma once

#include <string>
#include <vector>

namespace fuzz {

struct TextKind {
  char line_end = '\n';
  std::string between_words;       // the bytes that belong to no word, beside the line's end
  std::vector<std::string> words;  // what a word may be replaced by
};

/// What the inputs of this fuzzer look like. Each such fuzzer defines it.
const TextKind& text_kind();

}  // namespace fuzz
