// SPDX-License-Identifier: Apache-2.0
#include "cli/host/perf_event.h"

namespace elision::cli {

perf_event_attr attributes_of(const PerfEventCode& code) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = code.type;
  attributes.config = code.config[0];
  attributes.config1 = code.config[1];
  attributes.config2 = code.config[2];
  attributes.disabled = attributes.exclude_kernel = attributes.exclude_hv = 1;
  return attributes;
}

}  // namespace elision::cli
