// SPDX-License-Identifier: Apache-2.0
// Source: getrlimit(2).
#include "vm/host/host_limits.h"

#include <algorithm>

#include "vm/host/host_call.h"

namespace elision::vm {
namespace {

/// If the host's limit on memory cannot be lifted, the engine keeps this much of it. About 370 MB are mapped
/// as it starts.
constexpr rlim_t kEngineAddressBytes = 512ull << 20;
constexpr rlim_t kLeastGuestBytes = 64ull << 20;

/// Resources that the engine needs for itself.
constexpr int kBindTheEngine[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_SIGPENDING};

/// Limit of the engine's host stack. Not infinite: that changes where an execve maps things.
constexpr rlim_t kHostStackBytes = 8u << 20;

void bind_host_limit(int resource, const rlimit& wanted) {
  const rlimit host = host_limit(resource);
  if (wanted.rlim_max > host.rlim_max && set_host_limit(resource, wanted) == 0) return;
  const rlim_t soft = std::min(wanted.rlim_cur, host.rlim_max);
  if (soft != host.rlim_cur) set_host_limit(resource, {soft, host.rlim_max});
}

/// Lifts as far as the host allows.
void lift(int resource, rlim_t wanted) {
  const rlimit limit = host_limit(resource);
  if (set_host_limit(resource, {wanted, std::max(wanted, limit.rlim_max)}) != 0)
    set_host_limit(resource, {std::min(wanted, limit.rlim_max), limit.rlim_max});
}

}  // namespace

rlimit host_limit(int resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  host_call(SYS_prlimit64, 0, resource, 0, reinterpret_cast<std::uint64_t>(&limit));
  return limit;
}

long set_host_limit(int resource, const rlimit& limit) {
  return host_call(SYS_prlimit64, 0, resource, reinterpret_cast<std::uint64_t>(&limit), 0);
}

rlim_t room_for_guest(int resource) {
  const rlim_t limit = host_limit(resource).rlim_max;
  return limit == RLIM_INFINITY ? limit : limit - std::min(limit, kEngineAddressBytes);
}

LimitTable host_limits() {
  LimitTable limits;
  for (unsigned i = 0; i < limits.size(); ++i) limits[i] = host_limit(static_cast<int>(i));
  limits[RLIMIT_RTPRIO] = {0, 0};  // no real-time scheduling here (policy_calls.h)
  return limits;
}

std::string lift_host_limits() {
  lift(RLIMIT_AS, RLIM_INFINITY);
  lift(RLIMIT_DATA, RLIM_INFINITY);
  lift(RLIMIT_STACK, kHostStackBytes);
  for (const int resource : kBindTheEngine) lift(resource, host_limit(resource).rlim_max);
  const rlim_t left = std::min(host_limit(RLIMIT_AS).rlim_max, host_limit(RLIMIT_DATA).rlim_max);
  if (left >= kEngineAddressBytes + kLeastGuestBytes) return "";
  return "the limit of " + std::to_string(left / 1024) +
         " kB on memory (ulimit -v or -d) leaves too little for the virtual machine itself, which needs " +
         std::to_string((kEngineAddressBytes + kLeastGuestBytes) / 1024) +
         " kB; to limit the program alone: elision vm -- sh -c 'ulimit -v N; exec PROGRAM'";
}

void bind_host_limits(const LimitTable& limits) {
  for (unsigned i = 0; i < limits.size(); ++i)
    if (!is_kept_here(static_cast<int>(i))) bind_host_limit(static_cast<int>(i), limits[i]);
}

LiftedLimits::LiftedLimits() {
  for (const int resource : kBindTheEngine) {
    rlimit& before = before_[static_cast<unsigned>(resource)];
    before = host_limit(resource);
    if (before.rlim_cur != before.rlim_max) set_host_limit(resource, {before.rlim_max, before.rlim_max});
  }
}

LiftedLimits::~LiftedLimits() {
  for (const int resource : kBindTheEngine) {
    const rlimit& before = before_[static_cast<unsigned>(resource)];
    if (before.rlim_cur != before.rlim_max) set_host_limit(resource, before);
  }
}

}  // namespace elision::vm
