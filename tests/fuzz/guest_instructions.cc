// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as instructions of a guest (sequence.h), executed by sequence_runner in `elision vm` and
// natively. The engine must neither fail nor hang. Each record must end by the same signal at the same
// address, unless one of the runs timed out or the virtual CPU lacks the instruction, as its CPUID says.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "child.h"
#include "fuzz.h"
#include "sequence.h"
#include "vm/decode/instruction.h"

namespace {

constexpr unsigned kSeconds = 20;

struct Line {
  int signal = 0, code = 0;
  std::string pc, address;
  bool operator==(const Line&) const = default;
};

bool contains(const std::uint8_t* code, std::initializer_list<std::uint8_t> bytes) {
  return std::search(code, code + kCodeBytes, bytes.begin(), bytes.end()) != code + kCodeBytes;
}

/// All ways to make system calls, which would reach the host.
bool makes_calls(const std::uint8_t* code) {
  return contains(code, {0x0f, 0x05}) || contains(code, {0x0f, 0x34}) || contains(code, {0xcd});
}

/// Writes to segment registers, transactional or debugging state, or protection keys; operands with FS or GS.
bool is_for_virtual_alone(const std::uint8_t* code) {
  static constexpr std::uint8_t kBytes[] = {0x64, 0x65, 0x8e, 0x9d, 0xca, 0xcb, 0xcf};
  if (std::find_first_of(code, code + kCodeBytes, std::begin(kBytes), std::end(kBytes)) != code + kCodeBytes)
    return true;
  for (const std::uint8_t second : {0x00, 0x01, 0xa1, 0xa9, 0xae, 0xb2, 0xb4, 0xb5, 0xc7})
    if (contains(code, {0x0f, second})) return true;
  return contains(code, {0xc7, 0xf8}) || contains(code, {0xc6, 0xf8});
}

/// Records for the virtual machine only come last, since they may end the runner.
std::vector<std::uint8_t> records_of(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = kMostRecords * kRecordBytes;
  std::vector<std::uint8_t> records, alone;
  for (std::size_t at = 0; at < size && records.size() + alone.size() < kMost; at += kRecordBytes) {
    std::uint8_t record[kRecordBytes];
    std::memset(record, 0xcc, sizeof record);
    std::memcpy(record, data + at, std::min<std::size_t>(size - at, kRecordBytes));
    record[0] &= kAtPageEnd | kInTransaction | kVirtualAlone;
    if (makes_calls(record + 1)) continue;
    if (is_for_virtual_alone(record + 1)) record[0] |= kVirtualAlone;
    std::vector<std::uint8_t>& list = (record[0] & (kVirtualAlone | kInTransaction)) != 0 ? alone : records;
    list.insert(list.end(), record, record + sizeof record);
  }
  records.insert(records.end(), alone.begin(), alone.end());
  return records;
}

std::map<int, Line> lines_of(const std::string& output) {
  std::map<int, Line> lines;
  std::istringstream text(output);
  int number;
  for (Line line; text >> number >> line.signal >> line.code >> line.pc >> line.address;)
    lines[number] = line;
  return lines;
}

/// Whether the virtual CPU ended `record` by SIGILL at an instruction that it lacks.
bool is_refused(const std::uint8_t* record, const Line& line) {
  if (line.signal != SIGILL || line.pc.rfind("code", 0) != 0) return false;
  const long at = std::stol(line.pc.substr(4)) - ((record[0] & kAtPageEnd) != 0 ? 4096 - kCodeBytes : 1024);
  if (at < 0 || at >= kCodeBytes) return false;
  std::uint8_t bytes[15];
  std::memset(bytes, 0xcc, sizeof bytes);
  std::memcpy(bytes, record + 1 + at,
              std::min<std::size_t>(sizeof bytes, static_cast<std::size_t>(kCodeBytes - at)));
  return elision::vm::decode(0, bytes).kind == elision::vm::InstructionClass::kUnsupported;
}

/// A branch to a non-canonical address: some CPUs report the branch's address, the virtual one the target.
bool is_far_jump(const Line& native, const Line& other) {
  return native.signal == SIGSEGV && native.code == SI_KERNEL && other.signal == SIGSEGV &&
         other.code == SI_KERNEL && other.pc == "elsewhere";
}

std::string text_of(const std::uint8_t* record, const Line& line) {
  std::string text;
  char byte[8];
  for (int i = 0; i < kRecordBytes; ++i) std::snprintf(byte, sizeof byte, "%02x ", record[i]), text += byte;
  return text + "signal " + std::to_string(line.signal) + " code " + std::to_string(line.code) + " at " +
         line.pc + " address " + line.address;
}

void compare(const std::vector<std::uint8_t>& records, const std::string& native,
             const std::string& in_machine) {
  const std::map<int, Line> expected = lines_of(native), seen = lines_of(in_machine);
  for (const auto& [number, line] : expected) {
    const std::uint8_t* const record = records.data() + number * kRecordBytes;
    const auto found = seen.find(number);
    if (found == seen.end()) fuzz::fail("no end in the virtual machine: " + text_of(record, line));
    const Line& other = found->second;
    if (line == other || line.signal == SIGALRM || other.signal == SIGALRM || is_refused(record, other) ||
        is_far_jump(line, other))
      continue;
    fuzz::fail("natively: " + text_of(record, line) + "\nvirtually: " + text_of(record, other));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string elision = fuzz::path_from("ELISION"), runner = fuzz::path_from("SEQUENCE_RUNNER");
  const std::vector<std::uint8_t> records = records_of(data, size);
  char name[] = "/tmp/fuzz-sequences-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0 || write(file, records.data(), records.size()) != static_cast<ssize_t>(records.size()))
    fuzz::fail("cannot write records");
  close(file);
  const fuzz::Ended native = fuzz::run_child({runner, name, "native"}, kSeconds);
  const fuzz::Ended in_machine =
      fuzz::run_child({elision, "vm", "--crash-reports", "none", "--", runner, name, "virtual"}, kSeconds);
  unlink(name);
  if (in_machine.errors.find("internal error") != std::string::npos) fuzz::fail(in_machine.errors);
  // The virtual CPU is Intel's. Other makers treat prefixes of branches and some undefined bytes differently.
  const bool comparable = __builtin_cpu_is("intel") && !native.asked && !in_machine.asked;
  if (comparable) compare(records, native.output, in_machine.output);
  return 0;
}
