// SPDX-License-Identifier: Apache-2.0
// The screen, to the letter for two machines, in its measures for all.
#include "cli/doctor/render.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/doctor/machines_for_test.h"

namespace elision::cli::doctor {
namespace {

constexpr std::size_t kWidest = 110;
constexpr int kMostLines = 35;

std::string screen_of(const Facts& facts) { return render(facts, diagnose(facts)); }

TEST(Render, LiveServer) {
  EXPECT_EQ(screen_of(live_server()),
            R"(Hardware transactions: yes, 9999 of 10000 trial transactions committed.

  CPU     model              Intel(R) Xeon(R) Platinum 8380
          signature          GenuineIntel, family 6, model 106, stepping 6
          microcode          0xd0003e7
          hypervisor         none            CPUID shows what the CPU has
  CPUID   RTM                yes             instructions for transactions that commit: what Elision uses
          HLE                yes             older prefixes for locks; Elision does not use them
          RTM_ALWAYS_ABORT   no              microcode does not end every transaction
          TSX_FORCE_ABORT    no              perf does not end transactions to gain a counter
          TSXLDTRK           no              cannot read without tracking conflicts; not missed
          ARCH_CAPABILITIES  yes             there may be a switch by which the kernel turns TSX off
  trial   committed          9999 of 10000   transactions of one store, alone
          aborted            other 1         other: an interrupt, a fault, or the CPU's own reason
          nesting            7 deep          transactions that fit into each other
          always-abort       nested-rtm      AAHTM locks may use it by --rtm-always-abort; not guaranteed
  kernel  Linux              6.12.0
          tsx=               on              on its command line: on, off, or auto (off if open to TAA)
          TAA, a data leak   Not affected    nothing leaks by way of TSX (or there is no TSX)
          rtm flag           yes             /proc/cpuinfo agrees with CPUID
  perf    paranoid           2               perf_event_paranoid: user code may be counted
          cycles             yes             perf can count in this user's programs
          TSX events         3 of 3          tx-abort tx-commit tx-start
  libc    glibc              2.41            can elide locks, by its version (2.27 to 2.42); is not told to

Nothing to change.
)");
}

TEST(Render, ServerWhoseKernelKeepsTsxOff) {
  EXPECT_EQ(
      screen_of(dead_server()),
      R"(Hardware transactions: no, this CPU model has RTM; most likely the kernel keeps TSX off, as is its default.

  CPU     model              Intel(R) Xeon(R) Platinum 8380
          signature          GenuineIntel, family 6, model 106, stepping 6
          microcode          0xd0003e7
          hypervisor         none            CPUID shows what the CPU has
  CPUID   RTM                no              no transactions that commit
          HLE                no              older prefixes for locks; not missed
          RTM_ALWAYS_ABORT   no              microcode does not end every transaction
          TSX_FORCE_ABORT    no              perf does not end transactions to gain a counter
          TSXLDTRK           no              cannot read without tracking conflicts; not missed
          ARCH_CAPABILITIES  yes             there may be a switch by which the kernel turns TSX off
  trial   committed          not tried       XBEGIN would be an illegal instruction
          always-abort       none            AAHTM locks wait without speculating
  kernel  Linux              6.12.0
          tsx=               not given       so by default: in Linux off since 5.4, auto as planned for 7.0
          TAA, a data leak   Not affected    nothing leaks by way of TSX (or there is no TSX)
          rtm flag           no              /proc/cpuinfo agrees with CPUID
  perf    paranoid           2               perf_event_paranoid: user code may be counted
          cycles             yes             perf can count in this user's programs
          TSX events         3 of 3          tx-abort tx-commit tx-start
  libc    glibc              2.41            can elide locks, by its version (2.27 to 2.42); is not told to

What to change:
  1. Put tsx=on on the kernel's command line and boot again. This CPU is not open to TAA, the leak
     for which TSX is off.
  2. Or change nothing: elision vm has transactions, as in: elision compare --machine
     xeon-gold-5520plus -- PROGRAM
)");
}

TEST(Render, EveryMachineFitsOneScreen) {
  for (const Machine& machine : kMachines) {
    SCOPED_TRACE(machine.what);
    Facts facts = machine.from();
    machine.change(facts);
    const std::string screen = screen_of(facts);
    std::istringstream lines(screen);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), kWidest) << line;
    EXPECT_LE(count, kMostLines);
    EXPECT_EQ(screen.find(machine.live ? "Hardware transactions: yes, " : "Hardware transactions: no, "), 0u);
  }
}

TEST(Render, LinesFitTheTerminal) {
  for (const Machine& machine : kMachines) {
    SCOPED_TRACE(machine.what);
    Facts facts = machine.from();
    machine.change(facts);
    std::istringstream lines(render(facts, diagnose(facts), 70));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 70u) << line;
  }
}

TEST(Render, ControlCharactersStayOffTheTerminal) {
  Facts facts = live_server();
  facts.glibc.elision_tunables = "glibc.elision.tries=\033[2J\n";
  const std::string screen = screen_of(facts);
  EXPECT_EQ(screen.find('\033'), std::string::npos);
  EXPECT_NE(screen.find("glibc.elision.tries=?[2J?\n"), std::string::npos);
}

}  // namespace
}  // namespace elision::cli::doctor
