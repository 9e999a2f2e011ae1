// SPDX-License-Identifier: Apache-2.0
#include "vm/host/host_thread.h"

#include "vm/host/host_helper.h"
#include "vm/host/host_limits.h"
#include "vm/host/host_signals.h"

namespace elision::vm {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

}  // namespace

bool start_host_thread(pthread_t& thread, void* (*run)(void*), void* argument) {
  const LiftedLimits lifted;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const SignalSet mask = get_host_mask();
  set_host_mask(kAllSignals);  // the thread begins with it
  const int error = pthread_create(&thread, &attributes, run, argument);
  set_host_mask(mask);
  pthread_attr_destroy(&attributes);
  // With its first thread the C library installs a handler for this signal, with SA_RESTART. Install the
  // engine's again.
  set_host_action(kCancelSignal, HostAction::kRecord);
  return error == 0;
}

}  // namespace elision::vm
