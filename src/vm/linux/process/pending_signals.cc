// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/pending_signals.h"

#include <algorithm>

namespace elision::vm {

std::optional<siginfo_t> PendingSignals::take(SignalSet wanted) {
  const std::uint64_t candidates = set_.bits & wanted.bits;
  if (candidates == 0) return std::nullopt;
  const int signal = __builtin_ctzll(candidates) + 1;
  const auto has_number = [&](const siginfo_t& info) { return info.si_signo == signal; };
  const auto oldest = std::find_if(queue_.begin(), queue_.end(), has_number);
  const siginfo_t info = *oldest;
  queue_.erase(oldest);
  if (std::none_of(queue_.begin(), queue_.end(), has_number)) set_.remove(signal);
  return info;
}

void PendingSignals::discard(int signal) {
  std::erase_if(queue_, [&](const siginfo_t& info) { return info.si_signo == signal; });
  set_.remove(signal);
}

}  // namespace elision::vm
