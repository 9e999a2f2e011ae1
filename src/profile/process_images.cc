// SPDX-License-Identifier: Apache-2.0
#include "profile/process_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace elision::profile {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr const char* kAnonymous = "//anon";

}  // namespace

/// Cuts what lies in [begin, end) out of the ranges.
void ProcessImage::make_room(std::uint64_t begin, std::uint64_t end) {
  auto at = ranges_.lower_bound(begin);
  if (at != ranges_.begin()) {
    Range& before = std::prev(at)->second;
    const std::uint64_t from = std::prev(at)->first;
    if (before.end > end) {
      Range rest = before;
      rest.offset += end - from;
      at = ranges_.emplace(end, std::move(rest)).first;
    }
    before.end = std::min(before.end, begin);
  }
  while (at != ranges_.end() && at->first < end) {
    if (at->second.end > end) {
      Range rest = std::move(at->second);
      rest.offset += end - at->first;
      ranges_.erase(at);
      ranges_.emplace(end, std::move(rest));
      return;
    }
    at = ranges_.erase(at);
  }
}

void ProcessImage::add(const PerfMapping& mapping) {
  if (mapping.size == 0) return;
  const std::uint64_t end = mapping.begin + mapping.size;
  make_room(mapping.begin, end);
  ranges_.emplace(mapping.begin, Range{end, mapping.offset, mapping.is_code,
                                       mapping.name == kAnonymous ? "" : mapping.name});
  unwinder_.reset();
  names_.reset();
  names_by_servers_.reset();
}

std::string ProcessImage::memory_map() const {
  std::string text;
  const auto line = [&text](std::uint64_t begin, std::uint64_t end, bool is_code, std::uint64_t offset,
                            const std::string& name) {
    text +=
        fmt::format("{:x}-{:x} {} {:08x} 00:00 0 {}\n", begin, end, is_code ? "r-xp" : "r--p", offset, name);
  };
  const std::string* with_begin = nullptr;  // the file whose first byte is mapped, below
  std::uint64_t last_end = 0;
  for (const auto& [begin, range] : ranges_) {
    std::string name = range.name;
    std::replace(name.begin(), name.end(), '\n', '?');
    if (range.offset == 0) with_begin = &range.name;
    const bool lacks_begin = with_begin == nullptr || *with_begin != range.name;
    if (range.is_code && range.name.starts_with('/') && lacks_begin && range.offset <= begin &&
        begin - range.offset >= last_end && range.offset >= kPageBytes) {
      line(begin - range.offset, begin - range.offset + kPageBytes, false, 0, name);
      with_begin = &range.name;
    }
    line(begin, range.end, range.is_code, range.offset, name);
    last_end = range.end;
  }
  return text;
}

const Names& ProcessImage::names() {
  if (names_ == nullptr) names_ = std::make_unique<Names>(memory_map());
  return *names_;
}

const Names& ProcessImage::names_by_servers() {
  if (names_by_servers_ == nullptr)
    names_by_servers_ = std::make_unique<Names>(memory_map(), DebugFiles::kServersToo);
  return *names_by_servers_;
}

std::vector<CallStep> ProcessImage::calls_of(const PerfSample& sample, std::size_t most) {
  if (sample.state && !sample.stack.empty()) {
    if (unwinder_ == nullptr)  // the stack is a copy, so no memory is read
      unwinder_ =
          std::make_unique<Unwinder>(names(), [](std::uint64_t, void*, std::size_t) { return false; });
    const StackBytes stack{sample.stack.data(), sample.stack.size()};
    return unwinder_->backtrace(*sample.state, &stack, most);
  }
  std::vector<CallStep> chain;
  for (const std::uint64_t call : sample.calls)
    if (chain.size() < most) chain.push_back({call, !chain.empty()});
  return chain;
}

bool ProcessImage::overlaps(std::uint64_t begin, std::uint64_t end) const {
  const auto next = ranges_.lower_bound(begin);
  return (next != ranges_.end() && next->first < end) ||
         (next != ranges_.begin() && std::prev(next)->second.end > begin);
}

/// The last image is that of all for which there is no room.
std::size_t ProcessImages::add_image() {
  if (images_.size() < kMost) images_.push_back(std::make_unique<ProcessImage>());
  return images_.size() - 1;
}

std::size_t ProcessImages::number_of(std::uint32_t process) {
  const auto known = of_process_.find(process);
  return known != of_process_.end() ? known->second : of_process_[process] = add_image();
}

/// A fork's child shares its parent's image for good: if both map other code at one address afterwards, it
/// has the names of the later. Memory that is neither code nor a file does not matter, unless it replaces
/// some.
void ProcessImages::map(const PerfMapping& mapping) {
  ProcessImage& image = *images_[number_of(mapping.process)];
  const bool is_file = mapping.name.starts_with('/') && mapping.name != kAnonymous;
  const bool matters =
      mapping.is_code || is_file || image.overlaps(mapping.begin, mapping.begin + mapping.size);
  if (matters && ++mappings_ <= kMostMappings) image.add(mapping);
}

void ProcessImages::add_map(std::uint32_t process, const std::string& memory_map) {
  for (const Mapping& mapping : mappings_of(memory_map))
    map({process, mapping.begin, mapping.end - mapping.begin, mapping.offset, mapping.executable,
         mapping.name});
}

bool ProcessImages::add(PerfBytes record) {
  if (const auto mapping = read_mapping(record)) return map(*mapping), true;
  if (const auto fork = read_fork(record)) {
    if (fork->process != fork->parent) of_process_[fork->process] = number_of(fork->parent);
    return true;
  }
  const auto name = read_name(record);
  if (name && name->by_exec) of_process_[name->process] = add_image();
  return name.has_value();
}

}  // namespace elision::profile
