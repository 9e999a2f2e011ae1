// SPDX-License-Identifier: Apache-2.0
// Format: a magic word, then the fields in order; numbers are 8 bytes, strings and lists carry their
// length. Both ends are the same executable, so the format needs no versions.
#include "vm/linux/load/hand_over.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

namespace elision::vm {
namespace {

constexpr std::uint64_t kMagic = 0x316578656d766c65;  // "elvmexe1"

/// The one list of fields; `visit` is a Writer or a Reader.
template <class Visitor, class T>
void visit_fields(Visitor& visit, T& h) {
  visit(h.options.machine);
  visit(h.options.cpus);
  visit(h.options.seed);
  visit(h.options.variation);
  visit(h.options.stats_directory);
  visit(h.options.date_seconds);
  visit(h.options.run_ahead_cycles);
  visit(h.options.fast);
  for (auto* trigger : {&h.options.region.start, &h.options.region.stop, &h.options.region.warm_from}) {
    visit(trigger->kind);
    visit(trigger->value);
    visit(trigger->place);
  }
  visit(h.options.region.warm_up);
  visit(h.options.region.length);
  visit(h.options.region.later_starts);
  visit(h.options.region.later_warm_from);
  visit(h.options.region.ends_process);
  visit(h.options.region.counted);
  visit(h.options.fast_path);
  visit(h.options.conflict_detection);
  visit(h.options.profile);
  visit(h.options.lock_times);
  visit(h.options.record_forms);
  visit(h.options.serves);
  visit(h.options.crash_reports);
  visit(h.options.command);
  visit(h.options.preload);
  visit(h.program.path);
  visit(h.program.arguments);
  visit(h.program.environment);
  visit(h.program.descriptor);
  visit(h.origin.root_host_pid);
  visit(h.origin.start_time);
  visit(h.origin.blocked_signals);
  visit(h.origin.cpu_time);
  visit(h.origin.children_cpu_time);
  visit(h.origin.cpu_time_board);
  visit(h.origin.process_board);
  visit(h.origin.event_board);
  visit(h.origin.event_slots);
  for (auto& word : h.origin.affinity) visit(word);
  visit(h.origin.scheduling.policy);
  visit(h.origin.scheduling.resets_policy);
  visit(h.origin.scheduling.nice);
  visit(h.origin.answers_for_region);
  for (auto& limit : h.origin.limits) visit(limit.rlim_cur), visit(limit.rlim_max);
}

struct Writer {
  std::string bytes;

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(const T& value) {
    const auto word = static_cast<std::uint64_t>(value);
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes += text;
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    (*this)(list.size());
    for (const T& value : list) (*this)(value);
  }
};

struct Reader {
  const std::string& bytes;
  std::size_t at = 0;
  bool good = true;

  std::uint64_t word() {
    std::uint64_t value = 0;
    if (bytes.size() - at < sizeof value) return good = false, 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T& value) { value = static_cast<T>(word()); }
  void operator()(std::string& text) {
    const std::uint64_t size = word();
    if (size > bytes.size() - at) return void(good = false);
    text.assign(bytes, at, size);
    at += size;
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    const std::uint64_t count = word();
    list.clear();
    for (std::uint64_t i = 0; i < count && good; ++i) (*this)(list.emplace_back());
  }
};

}  // namespace

std::string encode_hand_over(const HandOver& hand_over) {
  Writer writer;
  writer(kMagic);
  visit_fields(writer, hand_over);
  return std::move(writer.bytes);
}

Fallible<HandOver> decode_hand_over(const std::string& bytes) {
  Reader reader{bytes};
  HandOver result;
  if (reader.word() != kMagic)
    return Failure{EINVAL, "vm-exec: this is not what an elision process hands over"};
  visit_fields(reader, result);
  if (!reader.good || reader.at != bytes.size()) return Failure{EINVAL, "vm-exec: incomplete hand-over"};
  return result;
}

int write_hand_over(const HandOver& hand_over) {
  const OpenFile file(memfd_create("elision", MFD_CLOEXEC));
  if (file.get() < 0) return -errno;
  const std::string bytes = encode_hand_over(hand_over);
  if (pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return -EIO;
  int kept = fcntl(file.get(), F_DUPFD, kFirstEngineDescriptor);
  if (kept < 0) kept = dup(file.get());  // a small RLIMIT_NOFILE
  return kept < 0 ? -errno : kept;
}

Fallible<HandOver> read_hand_over(int descriptor) {
  const OpenFile file(descriptor);
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const ssize_t got = pread(descriptor, buffer, sizeof buffer, static_cast<off_t>(bytes.size()));
    if (got < 0)
      return Failure{errno, std::string("vm-exec: cannot read the hand-over: ") + std::strerror(errno)};
    if (got == 0) return decode_hand_over(bytes);
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace elision::vm
