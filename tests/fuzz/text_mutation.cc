// SPDX-License-Identifier: Apache-2.0
#include "text_mutation.h"

#include <algorithm>

#include "base/random.h"

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

std::string random_number(Random& random) {
  static constexpr std::uint64_t kBorders[] = {0,        1,          2,          7,          8,    10,
                                               16,       64,         100,        128,        255,  1000,
                                               10000,    1000000,    100000000,  1u << 20,   4096, 65535,
                                               1u << 31, 0xffffffff, 1ull << 63, ~0ull >> 1, ~0ull};
  std::uint64_t number = kBorders[random.below(std::size(kBorders))];
  if (random.below(2) == 0) number += random.below(3) - 1;
  return (random.below(16) == 0 ? "-" : "") + std::to_string(number);
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

void change_byte(std::string& text, Random& random) {
  if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.next());
}

}  // namespace

std::size_t mutate_text(const TextKind& kind, std::uint8_t* data, std::size_t size, std::size_t most,
                        unsigned seed) {
  Random random(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  const Piece piece = random_piece(text, kind.between_words + kind.line_end, random);
  switch (random.below(6)) {
    case 0:
      change_lines(kind, text, random);
      break;
    case 1:
      change_byte(text, random);
      break;
    case 2:
      text.insert(piece.begin, random_word(kind, text, random) + kind.line_end);
      break;
    default:
      text.replace(piece.begin, piece.size, random_word(kind, text, random));
  }
  text.resize(std::min(text.size(), most));
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

}  // namespace fuzz
