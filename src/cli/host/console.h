// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command line. Verbs print only through these functions: lost
// output is an error, a missing standard error is not. Width, colour and characters of the text are chosen
// here.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace elision::cli {

/// Opens a placeholder for each standard descriptor that is closed, so that no other file gets its number.
/// Using a placeholder fails. Placeholders close on exec. Must be called before any file is opened.
void hold_standard_descriptors();

/// Closes the placeholders, in a process that becomes another program.
void release_standard_descriptors();

/// How text may look where it is printed.
struct Appearance {
  std::optional<std::size_t> width;  // display columns of the terminal; nothing: no limit
  bool colour = false;               // escape sequences for colours
  bool redraws = false;              // a line can be overwritten
  bool blocks = false;               // Unicode's block elements
};

/// What the appearance depends on.
struct Surroundings {
  bool terminal = false;
  unsigned window_columns = 0;          // as the terminal reports them; 0: it does not
  bool utf8 = false;                    // the locale's encoding
  std::string columns, no_color, term;  // the environment variables COLUMNS, NO_COLOR and TERM
};

/// Only a terminal has a width, which is that in COLUMNS, else its window's, else 80. Only a terminal has
/// colours, unless NO_COLOR is not empty or TERM is "dumb". Pure.
Appearance appearance_in(const Surroundings& surroundings);

/// The appearance of text on the open descriptor.
Appearance appearance_of(int descriptor);

/// What text stands out for.
enum class Tone { kPlain, kGood, kBad };

/// `text` in the colour of `tone`, if there are colours.
std::string toned(std::string_view text, Tone tone, const Appearance& appearance);

/// The width of help texts, which have lines also where there is no terminal.
inline constexpr std::size_t kDefaultWidth = 80;

/// Prints to standard output. Throws UsageError if it is closed or full. If its reader has gone, ends the
/// process by SIGPIPE, even if that is ignored.
void print(std::string_view text);

/// Prints text unchanged to standard error, if it is open.
void print_error(std::string_view text);

/// Prints "elision VERB: MESSAGE" to standard error, as one line whatever `message` contains.
void tell(std::string_view verb, std::string_view message);

/// Does every step even if one throws UsageError, and then throws the first such error. So a failing output
/// does not keep the others from being written.
void do_all(std::initializer_list<std::function<void()>> steps);

/// Writes all of `content` to a file of any kind. Returns 0 or an errno; neither a closed pipe nor a limit on
/// file sizes ends the process.
int write_all(int descriptor, std::string_view content);

}  // namespace elision::cli
