// SPDX-License-Identifier: Apache-2.0
// Kernels made of files.
#include "cli/doctor/kernel_facts.h"

#include <gtest/gtest.h>

#include "cli/doctor/file_tree_for_test.h"

namespace elision::cli::doctor {
namespace {

constexpr const char* kTaaFile = "sys/devices/system/cpu/vulnerabilities/tsx_async_abort";

TEST(KernelFacts, NoFilesNoFacts) {
  const FileTree tree;
  const KernelFacts facts = read_kernel(tree.root());
  EXPECT_EQ(facts.release, "");
  EXPECT_FALSE(facts.command_line_known);
  EXPECT_FALSE(facts.tsx || facts.tsx_async_abort || facts.mitigations || facts.built_in_tsx || facts.taa);
  EXPECT_FALSE(facts.rtm_flag || facts.microcode || facts.perf_may_abort_all);
  EXPECT_TRUE(facts.others.empty());
}

TEST(KernelFacts, CommandLine) {
  const struct {
    const char* line;
    std::optional<std::string> tsx, taa, mitigations;
  } cases[] = {
      {"quiet\n", {}, {}, {}},
      {"", {}, {}, {}},
      {"ro tsx=on quiet\n", "on", {}, {}},
      {"tsx=off tsx=auto", "auto", {}, {}},
      {"tsx=", "", {}, {}},
      {"notsx=on", {}, {}, {}},
      {"tsx_async_abort=full,nosmt mitigations=off", {}, "full,nosmt", "off"},
      {"tsx=off -- tsx=on mitigations=off", "off", {}, {}},
  };
  for (const auto& c : cases) {
    FileTree tree;
    const KernelFacts facts = read_kernel(tree.file("proc/cmdline", c.line).root());
    EXPECT_TRUE(facts.command_line_known);
    EXPECT_EQ(facts.tsx, c.tsx) << c.line;
    EXPECT_EQ(facts.tsx_async_abort, c.taa) << c.line;
    EXPECT_EQ(facts.mitigations, c.mitigations) << c.line;
  }
}

TEST(KernelFacts, FlagAndMicrocodeOfTheFirstCpu) {
  const struct {
    const char* text;
    std::optional<bool> rtm;
    std::optional<std::string> microcode;
  } cases[] = {
      {"processor\t: 0\nmicrocode\t: 0x2b000603\nflags\t\t: fpu hle rtm avx\n\n", true, "0x2b000603"},
      {"processor\t: 0\nflags\t\t: fpu rtm\n\n", true, {}},
      {"processor\t: 0\nmicrocode\t: 0xffffffff\nflags\t\t: fpu rtm_always_abort xrtm\n\n", false, {}},
      {"processor\t: 0\nflags\t\t: fpu\n\nprocessor\t: 1\nmicrocode\t: 0x7\nflags\t\t: rtm\n\n", false, {}},
      {"processor\t: 0\nflags\t\t:\nmicrocode\t:\n\n", false, {}},
      {"Features\t: fp asimd\n", {}, {}},
  };
  for (const auto& c : cases) {
    FileTree tree;
    const KernelFacts facts = read_kernel(tree.file("proc/cpuinfo", c.text).root());
    EXPECT_EQ(facts.rtm_flag, c.rtm) << c.text;
    EXPECT_EQ(facts.microcode, c.microcode) << c.text;
  }
}

TEST(KernelFacts, VulnerabilitiesThatSpeakOfTsx) {
  FileTree tree;
  tree.file(kTaaFile, "Mitigation: TSX disabled\n")
      .file("sys/devices/system/cpu/vulnerabilities/zombie", "Vulnerable: TSX on\n")
      .file("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n");
  const KernelFacts facts = read_kernel(tree.root());
  EXPECT_EQ(facts.taa, "Mitigation: TSX disabled");
  ASSERT_EQ(facts.others.size(), 1u);
  EXPECT_EQ(facts.others[0].name, "zombie");
  EXPECT_EQ(facts.others[0].text, "Vulnerable: TSX on");
}

TEST(KernelFacts, DefaultOfTheConfiguration) {
  const std::string off = "CONFIG_X86_INTEL_TSX_MODE_OFF=y\n# CONFIG_X86_INTEL_TSX_MODE_AUTO is not set\n";
  FileTree boot, modules, other;
  boot.file("proc/sys/kernel/osrelease", "6.1.0-40\n").file("boot/config-6.1.0-40", off);
  modules.file("proc/sys/kernel/osrelease", "7.0\n")
      .file("lib/modules/7.0/config", "CONFIG_X86_INTEL_TSX_MODE_AUTO=y\n");
  other.file("proc/sys/kernel/osrelease", "6.1.0-41\n").file("boot/config-6.1.0-40", off);
  EXPECT_EQ(read_kernel(boot.root()).built_in_tsx, "off");
  EXPECT_EQ(read_kernel(boot.root()).release, "6.1.0-40");
  EXPECT_EQ(read_kernel(modules.root()).built_in_tsx, "auto");
  EXPECT_EQ(read_kernel(other.root()).built_in_tsx, std::nullopt);
}

TEST(KernelFacts, WhetherPerfMayAbortAll) {
  for (const auto& [text, may] : {std::pair{"1\n", true}, {"Y\n", true}, {"0\n", false}, {"N\n", false}}) {
    FileTree tree;
    tree.file("sys/bus/event_source/devices/cpu/allow_tsx_force_abort", text);
    EXPECT_EQ(read_kernel(tree.root()).perf_may_abort_all, may);
  }
}

TEST(KernelFacts, WhoMadeTheSystem) {
  FileTree tree;
  EXPECT_EQ(read_kernel(tree.file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n").root()).system_vendor,
            "Amazon EC2");
}

}  // namespace
}  // namespace elision::cli::doctor
