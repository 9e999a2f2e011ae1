// SPDX-License-Identifier: Apache-2.0
#include "cli/host/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace elision::cli {
namespace {

rlim_t original = 0;  // the soft limit; 0: it has not been raised

rlimit limits() {
  rlimit limits{};
  getrlimit(RLIMIT_NOFILE, &limits);
  return limits;
}

void set_soft_limit(rlim_t soft) {
  rlimit now = limits();
  now.rlim_cur = soft;
  setrlimit(RLIMIT_NOFILE, &now);
}

}  // namespace

rlim_t descriptor_limit() { return limits().rlim_cur; }

RaisedDescriptorLimit::RaisedDescriptorLimit() {
  original = descriptor_limit();
  set_soft_limit(limits().rlim_max);
}
RaisedDescriptorLimit::~RaisedDescriptorLimit() {
  restore_descriptor_limit();
  original = 0;
}

void restore_descriptor_limit() {
  if (original != 0) set_soft_limit(original);
}

KeptDescriptors::KeptDescriptors(std::size_t count) : count_(count) {
  while (held_.size() < count_) {
    const int held = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (held < 0) return;
    held_.push_back(held);
  }
}

KeptDescriptors::~KeptDescriptors() {
  for (const int held : held_) close(held);
}

}  // namespace elision::cli
