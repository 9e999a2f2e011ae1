// SPDX-License-Identifier: Apache-2.0
// A mutator for fuzzers over lines of words (LLVMFuzzerCustomMutator): replaces a word, number, line or byte.
// Most of its texts pass their reader's first checks.
#pragma once

#include <string>
#include <vector>

namespace fuzz {

struct TextKind {
  char line_end = '\n';
  std::string between_words;       // bytes that separate words, besides the line's end
  std::vector<std::string> words;  // replacements for words
};

/// The syntax of the fuzzer's inputs. Each such fuzzer defines it.
const TextKind& text_kind();

}  // namespace fuzz
