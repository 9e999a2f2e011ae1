// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/knowledge.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace elision::cli::doctor {
namespace {

struct Model {
  unsigned model, first_stepping, last_stepping;
};

constexpr unsigned kAnyStepping = 15;

// CPUs with RTM and without TAA, as named by the change of Linux's default to tsx=auto (queued for 7.0). The
// numbers are those of arch/x86/include/asm/intel-family.h.
constexpr Model kRtmWithoutTaa[] = {
    {0x55, 10, 11},           // Cooper Lake
    {0x6a, 0, kAnyStepping},  // Ice Lake server
    {0x6c, 0, kAnyStepping},  // Ice Lake D
    {0x8f, 0, kAnyStepping},  // Sapphire Rapids
    {0xcf, 0, kAnyStepping},  // Emerald Rapids
    {0xad, 0, kAnyStepping},  // Granite Rapids
    {0xae, 0, kAnyStepping},  // Granite Rapids D
};

// The microcode of September 2014 (lkml.org/lkml/2014/9/18/218): 306f2, 306c3, 40651, 40661.
constexpr Model kLostRtm[] = {{0x3f, 2, 2}, {0x3c, 3, 3}, {0x45, 1, 1}, {0x46, 1, 1}};

template <std::size_t kCount>
bool is_one_of(const CpuFacts& cpu, const Model (&models)[kCount]) {
  if (cpu.vendor != "GenuineIntel" || cpu.family != 6) return false;
  return std::any_of(std::begin(models), std::end(models), [&](const Model& m) {
    return m.model == cpu.model && m.first_stepping <= cpu.stepping && cpu.stepping <= m.last_stepping;
  });
}

// Leaf 0x40000000, from each hypervisor's documentation.
constexpr struct {
  std::string_view signature, name;
} kHypervisors[] = {
    {"KVMKVMKVM", "KVM"},     {"Microsoft Hv", "Hyper-V"}, {"VMwareVMware", "VMware"},
    {"XenVMMXenVMM", "Xen"},  {"bhyve bhyve", "bhyve"},    {"TCGTCGTCGTCG", "QEMU without KVM"},
    {"ACRNACRNACRN", "ACRN"}, {"prl hyperv", "Parallels"}, {"VBoxVBoxVBox", "VirtualBox"}};

}  // namespace

bool has_rtm_without_taa(const CpuFacts& cpu) { return is_one_of(cpu, kRtmWithoutTaa); }

bool lost_rtm_to_erratum(const CpuFacts& cpu) { return is_one_of(cpu, kLostRtm); }

std::string hypervisor_name(const CpuFacts& cpu) {
  for (const auto& known : kHypervisors) {
    if (known.signature == cpu.hypervisor_signature) return std::string(known.name);
  }
  return cpu.hypervisor_signature.empty() ? "unnamed" : cpu.hypervisor_signature;
}

bool is_emulated(const CpuFacts& cpu) { return cpu.hypervisor_signature == "TCGTCGTCGTCG"; }

GlibcElision glibc_elision(std::string_view version) {
  unsigned major = 0, minor = 0;
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return GlibcElision::kNotGlibc;
  std::from_chars(version.data(), version.data() + dot, major);
  std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  if (major > 2 || (major == 2 && minor >= 43)) return GlibcElision::kRemoved;
  return minor >= 27 ? GlibcElision::kTunable : GlibcElision::kBuildOption;
}

bool enables_glibc_elision(std::string_view tunables) {
  constexpr std::string_view kName = "glibc.elision.enable=";
  const std::size_t start = tunables.rfind(kName);
  if (start == std::string_view::npos) return false;
  const std::string_view value = tunables.substr(start + kName.size());
  return value.substr(0, value.find(':')) == "1";
}

}  // namespace elision::cli::doctor
