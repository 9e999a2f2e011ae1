// SPDX-License-Identifier: Apache-2.0
// The options of `elision compare` that say how much is run. The verb reads them, and its advice repeats
// them.
#pragma once

namespace elision::cli {

inline constexpr const char* kRuns = "--runs";
inline constexpr const char* kBudget = "--budget";
inline constexpr const char* kSample = "--sample";
inline constexpr const char* kSampleLength = "--sample-length";
inline constexpr const char* kPrecision = "--precision";

}  // namespace elision::cli
