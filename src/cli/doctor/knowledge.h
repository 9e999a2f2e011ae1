// SPDX-License-Identifier: Apache-2.0
// Tables of CPU models, hypervisors and versions of glibc, with sources. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/doctor/facts.h"

namespace elision::cli::doctor {

/// An Intel server model with RTM that is not vulnerable to TAA.
bool has_rtm_without_taa(const CpuFacts& cpu);

/// A model whose RTM Intel's microcode removed for good because of an erratum.
bool lost_rtm_to_erratum(const CpuFacts& cpu);

/// "KVM" for "KVMKVMKVM"; the signature itself if it is not known, "unnamed" if there is none.
std::string hypervisor_name(const CpuFacts& cpu);

/// QEMU without hardware virtualisation, which translates instructions and does not support RTM.
bool is_emulated(const CpuFacts& cpu);

/// glibc's own lock elision, by its version.
enum class GlibcElision {
  kNotGlibc,
  kBuildOption,  // 2.18 to 2.26: if it was built so
  kTunable,      // 2.27 to 2.42: glibc.elision.enable, 0 by default
  kRemoved,      // from 2.43
};
GlibcElision glibc_elision(std::string_view version);

/// True if `tunables`, a value of GLIBC_TUNABLES, switches glibc's elision on.
bool enables_glibc_elision(std::string_view tunables);

}  // namespace elision::cli::doctor
