// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may have (RLIMIT_NOFILE).
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <vector>

namespace elision::cli {

/// Returns the number of descriptors that this process may have now.
rlim_t descriptor_limit();

/// While it lives, this process may have as many descriptors as its hard limit allows. One at a time.
class RaisedDescriptorLimit {
 public:
  RaisedDescriptorLimit();
  ~RaisedDescriptorLimit();
  RaisedDescriptorLimit(const RaisedDescriptorLimit&) = delete;
  RaisedDescriptorLimit& operator=(const RaisedDescriptorLimit&) = delete;
};

/// Gives a forked child the limit that its parent had before that raised it. Signal-safe.
void restore_descriptor_limit();

/// Keeps descriptors free while others are opened: it holds so many and closes them at its end.
class KeptDescriptors {
 public:
  explicit KeptDescriptors(std::size_t count);
  ~KeptDescriptors();
  KeptDescriptors(const KeptDescriptors&) = delete;
  KeptDescriptors& operator=(const KeptDescriptors&) = delete;

  /// Whether there were as many.
  bool are_there() const { return held_.size() == count_; }

 private:
  std::size_t count_;
  std::vector<int> held_;
};

}  // namespace elision::cli
