// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/shown_process.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace elision::vm {
namespace {

/// A thread in the published list.
struct PublishedThread {
  std::int32_t tid;
  char state;
  char name[kThreadNameBytes];
  std::uint64_t affinity[2];
};

/// A mapping in the published list.
struct PublishedRegion {
  std::uint64_t begin;
  Region region;
};

template <class T>
void append(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, const std::string& text) {
  append(bytes, text.size());
  bytes += text;
}

/// Reads values in the order in which append() wrote them. After the first failure every value is empty.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  bool is_good() const { return is_good_; }
  template <class T>
  T value() {
    T result{};
    if (!has(sizeof result)) return result;
    std::memcpy(static_cast<void*>(&result), bytes_.data() + at_, sizeof result);
    at_ += sizeof result;
    return result;
  }
  std::string text() {
    const auto size = value<std::size_t>();
    if (!has(size)) return "";
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  bool has(std::size_t size) { return is_good_ = is_good_ && bytes_.size() - at_ >= size; }

  const std::string& bytes_;
  std::size_t at_ = 0;
  bool is_good_ = true;
};

template <class T>
std::vector<T> list_of(const std::string& bytes) {
  std::vector<T> list(bytes.size() / sizeof(T));
  std::memcpy(static_cast<void*>(list.data()), bytes.data(), list.size() * sizeof(T));
  return list;
}

bool publishes(const Process& process) {
  return process.board.is_claimed() && process.inside_vfork == nullptr;
}

ShownThread shown(const KernelThread& thread) {
  ShownThread result{thread.thread.tid, thread.wait ? kSleeping : kRunning, thread.name, {}};
  std::copy(std::begin(thread.thread.affinity), std::end(thread.thread.affinity), result.affinity);
  return result;
}

bool decode_program(const std::string& bytes, ShownProcess& to) {
  Reader reader(bytes);
  to.limits = reader.value<LimitTable>();
  to.executable = reader.text();
  to.auxiliary_vector = list_of<std::uint64_t>(reader.text());
  for (auto* const list : {&to.arguments, &to.environment})
    for (auto left = reader.value<std::size_t>(); left > 0 && reader.is_good(); --left)
      list->push_back(reader.text());
  return reader.is_good();
}

std::vector<ShownThread> decode_threads(const std::string& bytes) {
  std::vector<ShownThread> threads;
  for (const PublishedThread& each : list_of<PublishedThread>(bytes)) {
    ShownThread thread{each.tid, each.state, {each.name, strnlen(each.name, sizeof each.name)}, {}};
    std::copy(std::begin(each.affinity), std::end(each.affinity), thread.affinity);
    threads.push_back(std::move(thread));
  }
  return threads;
}

}  // namespace

const ShownThread* ShownProcess::find(int tid) const {
  const auto found =
      std::find_if(threads.begin(), threads.end(), [&](const ShownThread& each) { return each.tid == tid; });
  return found != threads.end() ? &*found : nullptr;
}

ShownProcess shown_self(const Process& process) {
  ShownProcess self;
  self.host_pid = process.ids.host_pid();
  for (const auto& thread : process.threads) self.threads.push_back(shown(*thread));
  self.regions = process.memory.regions();
  self.limits = process.limits;
  self.executable = process.executable;
  self.arguments = process.arguments;
  self.environment = process.environment;
  self.auxiliary_vector = process.auxiliary_vector;
  return self;
}

std::optional<ShownProcess> shown_process(const Process& process, int host_pid) {
  const auto threads = process.board.read(host_pid, ProcessBoard::kThreads);
  const auto regions = process.board.read(host_pid, ProcessBoard::kRegions);
  const auto program = process.board.read(host_pid, ProcessBoard::kProgram);
  if (!threads || !regions || !program) return std::nullopt;
  ShownProcess other;
  other.host_pid = host_pid;
  other.threads = decode_threads(*threads);
  for (const PublishedRegion& each : list_of<PublishedRegion>(*regions))
    other.regions.add(each.begin, each.region.end, each.region.properties);
  if (other.threads.empty() || !decode_program(*program, other)) return std::nullopt;
  return other;
}

int host_process_of_thread(const Process& process, int tid) {
  for (const int host_pid : process.board.host_pids()) {
    if (host_pid == process.ids.host_pid() || !process.ids.may_have_thread(host_pid, tid)) continue;
    const auto threads = process.board.read(host_pid, ProcessBoard::kThreads);
    if (!threads) continue;
    for (const PublishedThread& each : list_of<PublishedThread>(*threads))
      if (each.tid == tid) return host_pid;
  }
  return 0;
}

void publish_threads(Process& process) {
  if (!publishes(process)) return;
  std::string bytes;
  for (const auto& thread : process.threads) {
    PublishedThread each{};
    const ShownThread known = shown(*thread);
    each.tid = known.tid;
    each.state = known.state;
    known.name.copy(each.name, sizeof each.name - 1);
    std::copy(std::begin(known.affinity), std::end(known.affinity), each.affinity);
    append(bytes, each);
  }
  char* at = process.board.publish(ProcessBoard::kThreads, bytes);
  for (const auto& thread : process.threads) {
    thread->published_state = at != nullptr ? at + offsetof(PublishedThread, state) : nullptr;
    if (at != nullptr) at += sizeof(PublishedThread);
  }
}

void publish_program(Process& process) {
  if (!publishes(process)) return;
  std::string bytes;
  append(bytes, process.limits);
  append_text(bytes, process.executable);
  const auto& words = process.auxiliary_vector;
  append_text(bytes, {reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]});
  for (const auto* const list : {&process.arguments, &process.environment}) {
    append(bytes, list->size());
    for (const std::string& text : *list) append_text(bytes, text);
  }
  process.board.publish(ProcessBoard::kProgram, bytes);
}

void publish_regions(Process& process) {
  if (!publishes(process) || process.published_regions == process.memory.regions().changes()) return;
  std::string bytes;
  for (const auto& [begin, region] : process.memory.regions().regions())
    append(bytes, PublishedRegion{begin, region});
  process.board.publish(ProcessBoard::kRegions, bytes);
  process.published_regions = process.memory.regions().changes();
}

void publish_all(Process& process) {
  if (process.inside_vfork != nullptr) return;  // the entry would be the parent's
  for (const auto& thread : process.threads) thread->published_state = nullptr;  // the window goes
  if (!process.board.claim(process.ids.host_pid())) return;
  process.published_regions = ~std::uint64_t{0};
  publish_regions(process);
  publish_program(process);
  publish_threads(process);
}

void publish_state(const Process& process, KernelThread& thread, char state) {
  if (thread.published_state != nullptr && process.inside_vfork == nullptr) *thread.published_state = state;
}

}  // namespace elision::vm
