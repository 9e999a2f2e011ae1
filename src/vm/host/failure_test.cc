// SPDX-License-Identifier: Apache-2.0
// What a failed check leaves behind: the message, SIGABRT, and no half-written statistics.
#include "vm/host/failure.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace elision::vm {
namespace {

void locate(GuestPlace& place) { place = {true, 42, 0x401136, 0x401120, 123456, 3}; }

void run_unguarded(void (*what)()) noexcept { what(); }

class FailureDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    failure_context = {"elision vm --seed 7 -- 'a program' x", "/bin/program", "", locate};
  }
};

TEST_F(FailureDeathTest, FailedCheckNamesConditionPlaceAndCommand) {
  EXPECT_EXIT(check(false, "unknown block", 0x70001000), testing::KilledBySignal(SIGABRT),
              "^elision vm: internal error: unknown block \\(0x70001000\\), "
              "src/vm/host/failure_test.cc:[0-9]+\n"
              "elision vm:   running /bin/program, thread 42, guest at or behind 0x401136, "
              "last translated block 0x401120, CPU 3, virtual cycle 123456\n"
              "elision vm:   this is a defect of elision, not of the program; it repeats with: "
              "elision vm --seed 7 -- 'a program' x\n$");
}

TEST_F(FailureDeathTest, TrueCheckDoesNothing) { check(true, "never seen"); }

TEST_F(FailureDeathTest, FaultNamesEngineAddress) {
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_addr = reinterpret_cast<void*>(0x10);
  EXPECT_EXIT(fail_by_fault(info, 0x123), testing::KilledBySignal(SIGABRT),
              "fault outside guest code: signal 11 at 0x10, engine at 0x123\n");
  EXPECT_EXIT(fail_by_fault(info, reinterpret_cast<std::uint64_t>(&locate)), testing::KilledBySignal(SIGABRT),
              "engine at elision\\+0x[0-9a-f]+\n");
}

TEST_F(FailureDeathTest, ExceptionIsNamed) {
  EXPECT_EXIT(
      {
        install_terminate_handler();
        run_unguarded(+[] { throw std::runtime_error("out of luck"); });
      },
      testing::KilledBySignal(SIGABRT), "exception: out of luck\n");
}

TEST_F(FailureDeathTest, LongCommandIsWhole) {
  static const std::string command = std::string(20'000, 'a') + "-end";
  failure_context.command = command.c_str();
  EXPECT_EXIT(fail_check("x", 0), testing::KilledBySignal(SIGABRT), "repeats with: a+-end\n$");
}

TEST_F(FailureDeathTest, FailureWithinMessageEnds) {
  failure_context.locate = [](GuestPlace&) { fail_check("inner", 0); };
  EXPECT_EXIT(fail_check("outer", 0), testing::KilledBySignal(SIGABRT), "");
}

TEST_F(FailureDeathTest, ClaimedStatisticsFileIsRemoved) {
  static const std::string file = testing::TempDir() + "claimed-" + std::to_string(getpid()) + ".json";
  std::ofstream(file).flush();
  failure_context.statistics_file = file.c_str();
  EXPECT_EXIT(fail_check("x", 0), testing::KilledBySignal(SIGABRT), "");
  EXPECT_FALSE(std::ifstream(file).is_open());
}

}  // namespace
}  // namespace elision::vm
