// SPDX-License-Identifier: Apache-2.0
#include "text_mutation.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/random.h"
#include "fuzz.h"

namespace fuzz {
namespace {

using elision::Random;

struct Piece {
  std::size_t begin = 0, size = 0;
};

/// The longest piece around a random place of `text` without any byte of `borders`.
Piece random_piece(const std::string& text, const std::string& borders, Random& random) {
  if (text.empty()) return {};
  const std::size_t at = random.below(text.size());
  const std::size_t before = at == 0 ? text.npos : text.find_last_of(borders, at - 1);
  const std::size_t begin = before == text.npos ? 0 : before + 1;
  return {begin, std::max(begin, std::min(text.find_first_of(borders, at), text.size())) - begin};
}

std::uint64_t border_number(Random& random) {
  static constexpr std::uint64_t kBorders[] = {0,        1,          2,          7,          8,    10,
                                               16,       64,         100,        128,        255,  1000,
                                               10000,    1000000,    100000000,  1u << 20,   4096, 65535,
                                               1u << 31, 0xffffffff, 1ull << 63, ~0ull >> 1, ~0ull};
  std::uint64_t number = kBorders[random.below(std::size(kBorders))];
  if (random.below(2) == 0) number += random.below(3) - 1;
  return number;
}

std::string random_number(Random& random) {
  const std::string sign = random.below(16) == 0 ? "-" : "";
  return sign + std::to_string(border_number(random));
}

std::string random_word(const TextKind& kind, const std::string& text, Random& random) {
  const std::string borders = kind.between_words + kind.line_end;
  switch (random.below(3)) {
    case 0:
      return random_number(random);
    case 1: {
      const Piece piece = random_piece(text, borders, random);
      return text.substr(piece.begin, piece.size);
    }
    default:
      return kind.words.empty() ? "" : kind.words[random.below(kind.words.size())];
  }
}

void change_lines(const TextKind& kind, std::string& text, Random& random) {
  const std::string end(1, kind.line_end);
  const Piece from = random_piece(text, end, random);
  const std::string line = text.substr(from.begin, from.size) + end;
  if (random.below(2) == 0) text.erase(from.begin, line.size());
  if (random.below(2) == 0) text.insert(random_piece(text, end, random).begin, line);
}

/// The first whole number after a random place of `text`; empty if none follows.
Piece random_number_in(const std::string& text, const std::string& borders, Random& random) {
  constexpr const char* kDigits = "0123456789";
  std::size_t begin = text.empty() ? text.npos : text.find_first_of(kDigits, random.below(text.size()));
  while (begin != text.npos) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
    const bool starts = begin == 0 || borders.find(text[begin - 1]) != text.npos;
    const bool ends = end == text.size() || borders.find(text[end]) != text.npos;
    if (starts && ends) return {begin, end - begin};
    begin = text.find_first_of(kDigits, end);
  }
  return {};
}

/// Another number for `old`, usually close to it, so that conditions on several numbers may still hold.
std::uint64_t other_number(std::uint64_t old, Random& random) {
  switch (random.below(4)) {
    case 0:
      return old + 1;
    case 1:
      return old == 0 ? 0 : old - 1;
    case 2:
      return random.below(std::min<std::uint64_t>(old, 1u << 30) * 2 + 2);
    default:
      return border_number(random);
  }
}

/// Keeps the text well formed.
void change_number(const TextKind& kind, std::string& text, Random& random) {
  const Piece piece = random_number_in(text, kind.between_words + kind.line_end, random);
  if (piece.size == 0) return;
  const std::uint64_t old = std::strtoull(text.substr(piece.begin, piece.size).c_str(), nullptr, 10);
  text.replace(piece.begin, piece.size, std::to_string(other_number(old, random)));
}

void change_byte(std::string& text, Random& random) {
  if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.next());
}

}  // namespace
}  // namespace fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  using namespace fuzz;
  const TextKind& kind = text_kind();
  Random random(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  const Piece piece = random_piece(text, kind.between_words + kind.line_end, random);
  switch (random.below(10)) {
    case 0:
      change_lines(kind, text, random);
      break;
    case 1:
      change_byte(text, random);
      break;
    case 2:
      text.insert(piece.begin, random_word(kind, text, random) + kind.line_end);
      break;
    case 3:
    case 4:
    case 5:
      text.replace(piece.begin, piece.size, random_word(kind, text, random));
      break;
    default:
      change_number(kind, text, random);
  }
  text.resize(std::min(text.size(), most));
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
