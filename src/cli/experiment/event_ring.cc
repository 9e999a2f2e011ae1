// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/event_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace elision::cli::experiment {
namespace {

constexpr std::uint64_t kMostRingPages = 128, kFewestRingPages = 8;

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Event::Event(Event&& other) noexcept { *this = std::move(other); }
Event& Event::operator=(Event&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(layout_, other.layout_);
  std::swap(page_, other.page_);
  std::swap(ring_bytes_, other.ring_bytes_);
  return *this;
}
Event::~Event() {
  if (page_ != nullptr) munmap(page_, page_bytes() + ring_bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

/// Precise samples come first, then such as name the instruction behind, then any; then those without the
/// CPU's branch records, which are not there in many virtual machines.
int Event::open(perf_event_attr attr, int process, int cpu) {
  const auto try_once = [&](const perf_event_attr& one) {
    const long file = syscall(SYS_perf_event_open, &one, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    descriptor_ = static_cast<int>(file);
    return file >= 0 ? 0 : errno;
  };
  const bool has_branches = (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
  const unsigned precise = attr.precise_ip;
  int first_error = 0;
  for (const bool with_losses : {true, false}) {
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (with_losses) attr.read_format |= PERF_FORMAT_LOST;
    for (unsigned level = precise + 1; level-- > 0;) {
      for (const bool with_branches : {true, false}) {
        if (with_branches && !has_branches) continue;
        perf_event_attr one = attr;
        one.precise_ip = level & 3;
        if (!with_branches) one.sample_type &= ~std::uint64_t{PERF_SAMPLE_BRANCH_STACK};
        if (!with_branches) one.branch_sample_type = 0;
        const int error = try_once(one);
        if (first_error == 0) first_error = error;
        if (error == 0) {
          layout_ = profile::PerfLayout(one);
          return 0;
        }
        if (error != EINVAL && error != EOPNOTSUPP) return error;
      }
    }
  }
  return first_error;
}

int Event::map_ring() {
  int error = 0;
  for (std::uint64_t pages = kMostRingPages; pages >= kFewestRingPages; pages /= 2) {
    const std::uint64_t bytes = pages * page_bytes();
    void* const memory =
        mmap(nullptr, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory != MAP_FAILED) {
      page_ = static_cast<perf_event_mmap_page*>(memory);
      ring_bytes_ = bytes;
      return 0;
    }
    error = errno;
    if (error != EPERM && error != ENOMEM) break;  // others than the limit of locked memory
  }
  return error;
}

void Event::take(std::vector<std::uint8_t>& bytes) {
  if (page_ == nullptr) return;
  const auto* const data = reinterpret_cast<const std::uint8_t*>(page_) + page_bytes();
  const std::uint64_t head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  const std::uint64_t tail = page_->data_tail;
  const std::uint64_t length = std::min(head - tail, ring_bytes_), at = tail % ring_bytes_;
  const std::uint64_t first = std::min(length, ring_bytes_ - at);
  bytes.insert(bytes.end(), data + at, data + at + first);
  bytes.insert(bytes.end(), data, data + (length - first));
  __atomic_store_n(&page_->data_tail, tail + length, __ATOMIC_RELEASE);
}

EventCount Event::count() const {
  std::uint64_t values[4] = {};
  const std::size_t size = ((layout_.read_format & PERF_FORMAT_LOST) != 0 ? 4 : 3) * sizeof values[0];
  if (read(descriptor_, values, size) != static_cast<ssize_t>(size)) return {};
  return {values[0], values[1], values[2], values[3]};
}

}  // namespace elision::cli::experiment
