// SPDX-License-Identifier: Apache-2.0
// A recursive-descent reader of RFC 2603's grammar that writes as it reads. The rules' names are in the
// comments. A rule that does not match sets `bad_`, which ends all others.
#include "profile/rust_names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

namespace elision::profile {
namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of a name: references may repeat parts of it
constexpr unsigned kMostDepth = 300;
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 56;
constexpr std::uint64_t kMostLifetimes = 1000;  // that one "for" names

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// <basic-type>
const char* basic_type(char tag) {
  constexpr struct {
    char tag;
    const char* name;
  } kTypes[] = {{'a', "i8"},   {'b', "bool"},  {'c', "char"},  {'d', "f64"}, {'e', "str"}, {'f', "f32"},
                {'h', "u8"},   {'i', "isize"}, {'j', "usize"}, {'l', "i32"}, {'m', "u32"}, {'n', "i128"},
                {'o', "u128"}, {'p', "_"},     {'s', "i16"},   {'t', "u16"}, {'u', "()"},  {'v', "..."},
                {'x', "i64"},  {'y', "u64"},   {'z', "!"}};
  for (const auto& type : kTypes)
    if (type.tag == tag) return type.name;
  return nullptr;
}

void append_utf8(std::string& text, std::uint32_t c) {
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  if (c < 0x10000) return put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
}

bool is_character(std::uint64_t c) { return c < 0x110000 && (c < 0xd800 || c > 0xdfff); }

/// Decodes Punycode (RFC 3492) with '_' in place of the last '-'. Returns nothing if the text is damaged or
/// too long: the time grows with the square of its length.
std::optional<std::string> decoded(std::string_view code) {
  constexpr std::size_t kMostCode = 1 << 10;
  if (code.size() > kMostCode) return std::nullopt;
  constexpr std::uint64_t kBase = 36, kLeast = 1, kMost = 26, kSkew = 38, kDamp = 700;
  const std::size_t mark = code.rfind('_');
  std::vector<std::uint32_t> characters;
  if (mark != std::string_view::npos)
    for (const char c : code.substr(0, mark)) characters.push_back(static_cast<unsigned char>(c));
  std::string_view rest = mark != std::string_view::npos ? code.substr(mark + 1) : code;
  std::uint64_t next = 128, at = 0, bias = 72;
  while (!rest.empty()) {
    const std::uint64_t before = at;
    for (std::uint64_t weight = 1, k = kBase;; k += kBase) {
      if (rest.empty()) return std::nullopt;
      const char c = rest.front();
      rest.remove_prefix(1);
      if (!is_lower(c) && !is_digit(c)) return std::nullopt;
      const auto digit = static_cast<std::uint64_t>(is_lower(c) ? c - 'a' : c - '0' + 26);
      at += digit * weight;
      if (at > kMostNumber) return std::nullopt;
      const std::uint64_t threshold = k <= bias ? kLeast : std::min(k - bias, kMost);
      if (digit < threshold) break;
      weight *= kBase - threshold;
      if (weight > kMostNumber / kBase) return std::nullopt;
    }
    const std::uint64_t count = characters.size() + 1;
    std::uint64_t delta = (at - before) / (before == 0 ? kDamp : 2);
    delta += delta / count;
    std::uint64_t k = 0;
    for (; delta > (kBase - kLeast) * kMost / 2; k += kBase) delta /= kBase - kLeast;
    bias = k + (kBase - kLeast + 1) * delta / (delta + kSkew);
    next += at / count;
    at %= count;
    if (!is_character(next)) return std::nullopt;
    characters.insert(characters.begin() + static_cast<std::ptrdiff_t>(at++),
                      static_cast<std::uint32_t>(next));
  }
  std::string text;
  for (const std::uint32_t c : characters) append_utf8(text, c);
  return text;
}

class Reader {
 public:
  explicit Reader(std::string_view symbol) : symbol_(symbol) {}

  /// <symbol-name> without "_R". A version and a <vendor-specific-suffix> may follow.
  std::optional<std::string> read() {
    if (is_digit(peek())) return std::nullopt;  // a later version of the scheme
    path(true);
    if (!bad_ && is_upper(peek())) {  // <instantiating-crate>
      mute_ = true;
      path(false);
      mute_ = false;
    }
    if (bad_ || (at_ < symbol_.size() && peek() != '.' && peek() != '$')) return std::nullopt;
    // As C++'s parts of functions are written. LLVM numbers functions of the same name.
    if (peek() == '.' && !symbol_.substr(at_).starts_with(".llvm."))
      print(" [clone ", symbol_.substr(at_), "]");
    return bad_ ? std::nullopt : std::optional(out_);
  }

 private:
  struct Identifier {
    std::string name;
    std::uint64_t disambiguator = 0;
  };

  char peek() const { return at_ < symbol_.size() ? symbol_[at_] : '\0'; }
  char next() {
    if (at_ >= symbol_.size()) return bad_ = true, '\0';
    return symbol_[at_++];
  }
  bool take(char c) {
    if (bad_ || peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  template <class... Texts>
  void print(const Texts&... texts) {
    if (mute_ || bad_) return;
    ((out_ += texts), ...);
    if (out_.size() > kMostBytes) bad_ = true;
  }

  /// <base-62-number>: 0 is "_", 1 is "0_".
  std::uint64_t number_62() {
    std::uint64_t value = 0;
    if (take('_')) return 0;
    for (char c; !bad_ && (c = next()) != '_';) {
      std::uint64_t digit = 0;
      if (is_digit(c))
        digit = static_cast<std::uint64_t>(c - '0');
      else if (is_lower(c))
        digit = static_cast<std::uint64_t>(c - 'a') + 10;
      else if (is_upper(c))
        digit = static_cast<std::uint64_t>(c - 'A') + 36;
      else
        bad_ = true;
      // Hashes of crates have all 64 bits.
      if (__builtin_mul_overflow(value, 62, &value) || __builtin_add_overflow(value, digit, &value))
        bad_ = true;
    }
    if (value == ~std::uint64_t{0}) bad_ = true;
    return value + 1;
  }
  /// Such a number behind `tag`, plus one; 0 without.
  std::uint64_t tagged_62(char tag) {
    if (!take(tag)) return 0;
    const std::uint64_t number = number_62();
    if (number == ~std::uint64_t{0}) bad_ = true;
    return number + 1;
  }

  /// <undisambiguated-identifier>
  std::string plain_identifier() {
    const bool is_coded = take('u');
    std::uint64_t length = 0;
    if (!is_digit(peek())) bad_ = true;
    if (!take('0'))
      while (!bad_ && is_digit(peek())) {
        length = length * 10 + static_cast<std::uint64_t>(next() - '0');
        if (length > symbol_.size()) bad_ = true;
      }
    take('_');
    if (bad_ || length > symbol_.size() - at_) return bad_ = true, "";
    const std::string_view bytes = symbol_.substr(at_, length);
    at_ += length;
    if (!is_coded) return std::string(bytes);
    const auto text = decoded(bytes);
    if (!text) bad_ = true;
    return text.value_or("");
  }
  /// <identifier>
  Identifier identifier() {
    Identifier result;
    result.disambiguator = tagged_62('s');
    result.name = plain_identifier();
    return result;
  }

  /// <backref>: `rule` at an earlier place.
  template <class Rule>
  void back(const Rule& rule) {
    const std::size_t start = at_ - 1;
    const std::uint64_t place = number_62();
    if (bad_ || place >= start) return void(bad_ = true);
    if (mute_) return;
    const std::size_t after = at_;
    at_ = static_cast<std::size_t>(place);
    rule();
    at_ = after;
  }

  /// Counts how deep rules are nested.
  class Nested {
   public:
    explicit Nested(Reader& reader) : reader_(reader) {
      if (++reader_.depth_ > kMostDepth) reader_.bad_ = true;
    }
    ~Nested() { --reader_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Reader& reader_;
  };

  /// <path>. `is_value`: of a function, where arguments follow "::". `leave_open`: without the last ">", so
  /// that more arguments can follow; returns whether it is missing.
  bool path(bool is_value, bool leave_open = false) {
    const Nested nested(*this);
    if (bad_) return false;
    switch (next()) {
      case 'C':
        print(identifier().name);
        return false;
      case 'N':
        nested_path(is_value);
        return false;
      case 'M':
        impl_path();
        print("<");
        type();
        print(">");
        return false;
      case 'X':
        impl_path();
        [[fallthrough]];
      case 'Y':
        print("<");
        type();
        print(" as ");
        path(false);
        print(">");
        return false;
      case 'I':
        path(is_value);
        print(is_value ? "::<" : "<");
        list([this] { generic_argument(); });
        if (!leave_open) print(">");
        return leave_open;
      case 'B': {
        bool is_open = false;
        back([&] { is_open = path(is_value, leave_open); });
        return is_open;
      }
      default:
        bad_ = true;
        return false;
    }
  }

  /// What follows "N" of a <path>.
  void nested_path(bool is_value) {
    const char space = next();
    if (!is_lower(space) && !is_upper(space)) bad_ = true;
    path(is_value);
    const Identifier last = identifier();
    if (is_lower(space)) {
      if (!last.name.empty()) print("::", last.name);
      return;
    }
    print("::{", space == 'C' ? "closure" : space == 'S' ? "shim" : std::string(1, space));
    if (!last.name.empty()) print(":", last.name);
    print("#", std::to_string(last.disambiguator), "}");
  }

  /// <impl-path>: where the implementation is, which names leave out.
  void impl_path() {
    const bool before = mute_;
    mute_ = true;
    tagged_62('s');
    path(false);
    mute_ = before;
  }

  /// Rules up to "E", with commas. Returns how many.
  template <class Rule>
  std::size_t list(const Rule& rule, const char* separator = ", ") {
    std::size_t count = 0;
    while (!bad_ && !take('E')) {
      if (count++ > 0) print(separator);
      rule();
    }
    return count;
  }

  /// <generic-arg>
  void generic_argument() {
    if (take('L')) return lifetime(number_62());
    if (take('K')) return constant();
    type();
  }

  /// <lifetime>, by its distance from the innermost "for"; 0: any.
  void lifetime(std::uint64_t distance) {
    if (distance == 0) return print("'_");
    if (distance > lifetimes_) return void(bad_ = true);
    const std::uint64_t index = lifetimes_ - distance;
    if (index < 26) return print("'", std::string(1, static_cast<char>('a' + index)));
    print("'_", std::to_string(index));
  }

  /// <binder>, and `rule` with the lifetimes that it names.
  template <class Rule>
  void with_binder(const Rule& rule) {
    const std::uint64_t count = tagged_62('G');
    if (count > kMostLifetimes) bad_ = true;
    if (bad_) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      print(i == 0 ? "for<" : ", ");
      ++lifetimes_;
      lifetime(1);
    }
    if (count != 0) print("> ");
    rule();
    lifetimes_ -= count;
  }

  /// <type>
  void type() {
    const Nested nested(*this);
    if (bad_) return;
    const char tag = peek();
    if (const char* const name = basic_type(tag)) {
      ++at_;
      return print(name);
    }
    switch (tag) {
      case 'A':
      case 'S':
        ++at_;
        print("[");
        type();
        if (tag == 'A') print("; "), constant();
        return print("]");
      case 'T': {
        ++at_;
        print("(");
        const std::size_t count = list([this] { type(); });
        return print(count == 1 ? ",)" : ")");
      }
      case 'R':
      case 'Q':
        ++at_;
        print("&");
        if (take('L'))
          if (const std::uint64_t distance = number_62(); distance != 0) lifetime(distance), print(" ");
        if (tag == 'Q') print("mut ");
        return type();
      case 'P':
      case 'O':
        ++at_;
        print(tag == 'P' ? "*const " : "*mut ");
        return type();
      case 'F':
        ++at_;
        return with_binder([this] { function_type(); });
      case 'D':
        ++at_;
        return dynamic_type();
      case 'B':
        ++at_;
        return back([this] { type(); });
      default:
        path(false);
    }
  }

  /// <fn-sig> without its binder.
  void function_type() {
    if (take('U')) print("unsafe ");
    if (take('K')) {
      std::string name = take('C') ? "C" : plain_identifier();
      std::replace(name.begin(), name.end(), '_', '-');
      print("extern \"", name, "\" ");
    }
    print("fn(");
    list([this] { type(); });
    print(")");
    if (take('u')) return;  // it returns nothing
    print(" -> ");
    type();
  }

  /// <dyn-bounds> <lifetime>
  void dynamic_type() {
    print("dyn ");
    with_binder([this] { list([this] { dynamic_trait(); }, " + "); });
    if (!take('L')) return void(bad_ = true);
    if (const std::uint64_t distance = number_62(); distance != 0) print(" + "), lifetime(distance);
  }

  /// <dyn-trait>
  void dynamic_trait() {
    bool is_open = path(false, true);
    while (take('p')) {
      print(is_open ? ", " : "<");
      is_open = true;
      print(plain_identifier(), " = ");
      type();
    }
    if (is_open) print(">");
  }

  /// <const>: of whole numbers, truth values and characters.
  void constant() {
    const Nested nested(*this);
    if (bad_) return;
    if (take('B')) return back([this] { constant(); });
    const char tag = next();
    if (tag == 'p') return print("_");
    if (std::string_view("aslxnihtmyojbc").find(tag) == std::string_view::npos) return void(bad_ = true);
    const bool is_negative = std::string_view("aslxni").find(tag) != std::string_view::npos && take('n');
    const std::size_t start = at_;
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++at_;
    const std::string_view digits = symbol_.substr(start, at_ - start);
    if (!take('_')) return void(bad_ = true);
    constant_value(tag, is_negative, digits);
  }

  void constant_value(char tag, bool is_negative, std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool fits = error == std::errc() || digits.empty();
    if (tag == 'b') {
      if (!fits || value > 1) bad_ = true;
      return print(value != 0 ? "true" : "false");
    }
    if (tag == 'c') {
      if (!fits || !is_character(value)) return void(bad_ = true);
      std::string text;
      append_utf8(text, static_cast<std::uint32_t>(value));
      return print("'", text, "'");
    }
    print(is_negative ? "-" : "", fits ? std::to_string(value) : "0x" + std::string(digits));
  }

  std::string_view symbol_;  // behind "_R"
  std::size_t at_ = 0;
  std::string out_;
  bool mute_ = false, bad_ = false;
  unsigned depth_ = 0;
  std::uint64_t lifetimes_ = 0;  // that enclosing rules have named
};

}  // namespace

std::optional<std::string> rust_name(std::string_view symbol) {
  if (!symbol.starts_with("_R")) return std::nullopt;
  return Reader(symbol.substr(2)).read();
}

}  // namespace elision::profile
