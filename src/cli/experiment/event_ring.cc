// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/event_ring.h"

#include <sys/ioctl.h>
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
  std::swap(is_precise_, other.is_precise_);
  std::swap(page_, other.page_);
  std::swap(ring_bytes_, other.ring_bytes_);
  return *this;
}
Event::~Event() {
  if (page_ != nullptr) munmap(page_, page_bytes() + ring_bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

/// Precise samples matter most, then those with branch records, which many virtual machines do not have.
int Event::open(perf_event_attr attr, int process, int cpu) {
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  perf_event_attr without = attr;
  without.sample_type &= ~std::uint64_t{PERF_SAMPLE_BRANCH_STACK};
  without.branch_sample_type = 0;
  int first_error = 0;
  for (unsigned level = attr.precise_ip + 1; level-- > 0;) {
    for (perf_event_attr* const form : {&attr, &without}) {
      form->precise_ip = level & 3;
      descriptor_ =
          static_cast<int>(syscall(SYS_perf_event_open, form, process, cpu, -1, PERF_FLAG_FD_CLOEXEC));
      if (descriptor_ >= 0) {
        layout_ = profile::PerfLayout(*form);
        is_precise_ = form->precise_ip != 0;
        return 0;
      }
      const int error = errno;
      if (first_error == 0) first_error = error;
      if (error != EINVAL && error != EOPNOTSUPP) return error;
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

int Event::write_to(const Event& other) const {
  return ioctl(descriptor_, PERF_EVENT_IOC_SET_OUTPUT, other.descriptor_) == 0 ? 0 : errno;
}

std::uint64_t Event::id() const {
  std::uint64_t id = 0;
  return ioctl(descriptor_, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

void Event::enable() const { (void)ioctl(descriptor_, PERF_EVENT_IOC_ENABLE, 0); }
void Event::disable() const { (void)ioctl(descriptor_, PERF_EVENT_IOC_DISABLE, 0); }

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
  std::uint64_t values[3] = {};
  if (read(descriptor_, values, sizeof values) != static_cast<ssize_t>(sizeof values)) return {};
  return {values[0], values[1], values[2]};
}

}  // namespace elision::cli::experiment
