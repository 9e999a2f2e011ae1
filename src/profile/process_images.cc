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

Unwinder& ProcessImage::unwinder() {
  if (unwinder_ == nullptr)
    unwinder_ = std::make_unique<Unwinder>(names(), [](std::uint64_t, void*, std::size_t) { return false; });
  return *unwinder_;
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

/// An image that a fork's child shares stays shared: what either maps afterwards, at an address of its own,
/// the other does not execute.
void ProcessImages::map(const PerfMapping& mapping) {
  if (++mappings_ <= kMostMappings) images_[number_of(mapping.process)]->add(mapping);
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
