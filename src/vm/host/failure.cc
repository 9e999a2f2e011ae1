// SPDX-License-Identifier: Apache-2.0
#include "vm/host/failure.h"

#include <exception>
#include <string_view>

#include "vm/host/host_call.h"
#include "vm/host/host_signals.h"

extern "C" const char __executable_start[], _end[];  // by the linker

namespace elision::vm {

FailureContext failure_context;

namespace {

constexpr std::uint64_t kStandardError = 2;

/// Text for standard error, in one write if it fits.
class RawText {
 public:
  RawText& operator<<(std::string_view text) {
    for (const char c : text) {
      if (size_ == sizeof buffer_) flush();
      buffer_[size_++] = c;
    }
    return *this;
  }
  RawText& decimal(std::uint64_t value) { return number(value, 10); }
  RawText& hexadecimal(std::uint64_t value) { return *this << "0x", number(value, 16); }
  void flush() {
    for (std::uint64_t done = 0; done < size_;) {
      const long written =
          host_call(SYS_write, kStandardError, reinterpret_cast<std::uint64_t>(buffer_) + done, size_ - done);
      if (written <= 0) break;
      done += static_cast<std::uint64_t>(written);
    }
    size_ = 0;
  }

 private:
  RawText& number(std::uint64_t value, unsigned base) {
    char digits[20];
    unsigned at = sizeof digits;
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    return *this << std::string_view(digits + at, sizeof digits - at);
  }

  char buffer_[4096];
  std::uint64_t size_ = 0;
};

RawText g_text;
bool g_failing = false;

/// The path without the build's folders in front of the tree.
std::string_view in_tree(std::string_view file) {
  const std::size_t at = file.rfind("/src/");
  return at == std::string_view::npos ? file : file.substr(at + 1);
}

void begin() {
  if (g_failing) die_by_host_signal(SIGABRT);  // the message itself failed
  g_failing = true;
  g_text << "elision vm: internal error: ";
}

[[noreturn]] void end() {
  const FailureContext& context = failure_context;
  GuestPlace place;
  if (context.locate != nullptr) context.locate(place);
  g_text << "\nelision vm:   running " << context.program;
  if (place.known) {
    (g_text << ", thread ").decimal(static_cast<std::uint64_t>(place.tid));
    (g_text << ", guest at or behind ").hexadecimal(place.pc);
    (g_text << ", last translated block ").hexadecimal(place.last_translated);
    (g_text << ", CPU ").decimal(place.cpu);
    (g_text << ", virtual cycle ").decimal(place.cycle);
  }
  g_text << "\nelision vm:   this is a defect of elision, not of the program; it repeats with: "
         << context.command << "\n";
  g_text.flush();
  if (context.statistics_file[0] != '\0')
    host_call(SYS_unlink, reinterpret_cast<std::uint64_t>(context.statistics_file));
  die_by_host_signal(SIGABRT);
}

[[noreturn]] void on_terminate() {
  begin();
  g_text << "exception: ";
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
    g_text << "none";
  } catch (const std::exception& exception) {
    g_text << exception.what();
  } catch (...) {
    g_text << "of unknown type";
  }
  end();
}

}  // namespace

void fail_check(const char* what, std::uint64_t value, std::source_location where) {
  begin();
  ((g_text << what << " (").hexadecimal(value) << "), " << in_tree(where.file_name()) << ":")
      .decimal(where.line());
  end();
}

void fail_by_fault(const siginfo_t& info, std::uint64_t pc) {
  begin();
  (g_text << "fault outside guest code: signal ").decimal(static_cast<std::uint64_t>(info.si_signo));
  (g_text << " at ").hexadecimal(reinterpret_cast<std::uint64_t>(info.si_addr));
  const auto start = reinterpret_cast<std::uint64_t>(__executable_start);
  if (pc >= start && pc < reinterpret_cast<std::uint64_t>(_end)) {
    (g_text << ", engine at elision+").hexadecimal(pc - start);
  } else {
    (g_text << ", engine at ").hexadecimal(pc);
  }
  end();
}

void install_terminate_handler() { std::set_terminate(on_terminate); }

}  // namespace elision::vm
