// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/memory/address_space.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vm/interface/fake_engine.h"

namespace elision::vm {
namespace {

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

class AddressSpaceTest : public testing::Test {
 protected:
  ~AddressSpaceTest() override {
    const auto regions = memory.regions().regions();
    for (const auto& [begin, region] : regions) memory.unmap(begin, region.end - begin);
  }
  std::uint64_t map(std::uint64_t address, std::uint64_t size, int flags = 0, int protection = kReadWrite) {
    return static_cast<std::uint64_t>(memory.map(address, size, protection, kAnonymous | flags, -1, 0));
  }

  FakeEngine engine;
  AddressSpace memory{engine};
};

TEST_F(AddressSpaceTest, LayoutComesFromTheSeedAlone) {
  FakeEngine other_engine;
  AddressSpace other(other_engine);
  const std::uint64_t first = map(0, 5000);
  EXPECT_GE(first, kLowBegin);
  EXPECT_LT(first, kLowEnd);
  memory.unmap(first, 5000);
  EXPECT_EQ(static_cast<std::uint64_t>(other.map(0, 5000, kReadWrite, kAnonymous, -1, 0)), first);
  other.unmap(first, 5000);
}

TEST_F(AddressSpaceTest, NewMemoryIsUntouchedUnlessItIsPopulated) {
  using Pages = FakeEngine::UntouchedPages;
  std::uint64_t at = map(0, 5000);
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{at, at + 2 * kPageBytes, true}));
  memory.advise(at, kPageBytes, MADV_WILLNEED);
  memory.advise(at, kPageBytes, 23);  // MADV_POPULATE_WRITE; older hosts have none
  if (engine.untouched_pages.size() > 1) {
    EXPECT_EQ(engine.untouched_pages.back(), (Pages{at, at + kPageBytes, false}));
  }
  memory.advise(at, kPageBytes + 1, MADV_DONTNEED);
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{at, at + 2 * kPageBytes, true}));
  at = map(0, kPageBytes, MAP_POPULATE);
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{at, at + kPageBytes, false}));
  map(at, kPageBytes, MAP_FIXED);
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{at, at + kPageBytes, true}));
  const int file = memfd_create("x", 0);
  ASSERT_EQ(ftruncate(file, kPageBytes), 0);
  memory.map(at, kPageBytes, kReadWrite, MAP_PRIVATE | MAP_FIXED, file, 0);
  close(file);
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{at, at + kPageBytes, false}));
  at = map(0, std::uint64_t{65} << 30, MAP_NORESERVE);
  EXPECT_FALSE(engine.untouched_pages.back().untouched);
}

TEST_F(AddressSpaceTest, MemoryThatMremapAddsIsUntouched) {
  using Pages = FakeEngine::UntouchedPages;
  const std::uint64_t at = map(0, 2 * kPageBytes);
  memory.unmap(at + kPageBytes, kPageBytes);
  ASSERT_EQ(memory.remap(at, kPageBytes, 2 * kPageBytes, 0, 0), static_cast<long>(at));
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{at + kPageBytes, at + 2 * kPageBytes, true}));
  map(at + 2 * kPageBytes, kPageBytes);
  const auto moved =
      static_cast<std::uint64_t>(memory.remap(at, 2 * kPageBytes, 3 * kPageBytes, MREMAP_MAYMOVE, 0));
  ASSERT_NE(moved, at);
  EXPECT_EQ(engine.untouched_pages.rbegin()[1], (Pages{moved, moved + 2 * kPageBytes, false}));
  EXPECT_EQ(engine.untouched_pages.back(), (Pages{moved + 2 * kPageBytes, moved + 3 * kPageBytes, true}));
}

TEST_F(AddressSpaceTest, LargeMappingsLieHigh) {
  EXPECT_GE(map(0, kLargeBytes), kLargeBegin);
  EXPECT_LT(map(0, kLargeBytes - kPageBytes), kLowEnd);
}

TEST_F(AddressSpaceTest, Mapping32BitLiesBelow2GbOrFails) {
  constexpr std::uint64_t kGigabyte = 1 << 30;
  const int flags = MAP_32BIT | MAP_NORESERVE;
  const std::uint64_t first = map(0, kGigabyte, flags);
  EXPECT_LE(first + kGigabyte, 2 * kGigabyte);
  EXPECT_EQ(static_cast<long>(map(0, kGigabyte, flags)), -ENOMEM);
  EXPECT_LE(map(0x200000000, kPageBytes, flags), 2 * kGigabyte - kPageBytes)
      << "a hint beyond does not count";
}

struct AddressRange {
  std::uint64_t begin, end;
};
/// What compilers' sanitizers map at fixed addresses on x86-64, and what they protect against use.
constexpr AddressRange kTakenBySanitizers[] = {
    {0x7fff7000, 0x10007fff8000},      // AddressSanitizer: shadow and the page in front
    {0x500000000000, 0x540000000000},  // its allocator and LeakSanitizer's (LLVM 17 and later)
    {0x600000000000, 0x640000000000},  // the same before
    {0x8000000000, 0x550000000000},    // ThreadSanitizer (GCC 12), also the gaps
    {0x568000000000, 0x7e8000000000},  //
    {0x20000000000, 0x550000000000},   // ThreadSanitizer (LLVM 16 and later)
    {0x5a0000000000, 0x7a0000000000},  //
    {0x10000000000, 0x510000000000},   // MemorySanitizer
    {0x600000000000, 0x740000000000},  //
};
constexpr AddressRange kOrdinary[] = {
    {kProgramBase, kCodeCacheEnd}, {kLargeBegin, kLargeEnd}, {kStackTop - (1ull << 30), kStackTop}};

TEST(AddressSpaceLayout, LeavesSanitizersTheirFixedAddresses) {
  for (const AddressRange& taken : kTakenBySanitizers)
    for (const AddressRange& ours : kOrdinary)
      EXPECT_TRUE(ours.end <= taken.begin || ours.begin >= taken.end)
          << std::hex << ours.begin << " to " << ours.end << " meets " << taken.begin << " to " << taken.end;
}

TEST_F(AddressSpaceTest, NeverTouchesTheEnginesMappings) {
  void* const engines = mmap(nullptr, kPageBytes, kReadWrite, kAnonymous, -1, 0);
  std::strcpy(static_cast<char*>(engines), "mine");
  const auto address = reinterpret_cast<std::uint64_t>(engines);
  EXPECT_EQ(memory.map(address, kPageBytes, PROT_NONE, kAnonymous | MAP_FIXED, -1, 0), -ENOMEM);
  EXPECT_EQ(memory.protect(address, kPageBytes, PROT_NONE), -ENOMEM);
  EXPECT_EQ(memory.advise(address, kPageBytes, MADV_DONTNEED), -ENOMEM);
  EXPECT_EQ(memory.unmap(address, kPageBytes), 0);
  EXPECT_EQ(memory.remap(address, kPageBytes, 2 * kPageBytes, MREMAP_MAYMOVE, 0), -EFAULT);
  EXPECT_STREQ(static_cast<char*>(engines), "mine");
  munmap(engines, kPageBytes);
}

TEST_F(AddressSpaceTest, KeepsOutOfTheCodeCache) {
  EXPECT_EQ(memory.map(kCodeCacheBegin, kPageBytes, kReadWrite, kAnonymous | MAP_FIXED, -1, 0), -ENOMEM);
  EXPECT_NE(map(kCodeCacheBegin, kPageBytes), kCodeCacheBegin);
  const std::uint64_t below = map(kCodeCacheBegin - kPageBytes, kPageBytes, MAP_FIXED);
  EXPECT_EQ(memory.remap(below, kPageBytes, 2 * kPageBytes, 0, 0), -ENOMEM);
}

TEST_F(AddressSpaceTest, RemapKeepsContents) {
  const std::uint64_t first = map(0, kPageBytes);
  map(first + kPageBytes, kPageBytes, MAP_FIXED);  // no room to grow in place
  std::strcpy(reinterpret_cast<char*>(first), "text");
  EXPECT_EQ(memory.remap(first, kPageBytes, 4 * kPageBytes, 0, 0), -ENOMEM);
  const long moved = memory.remap(first, kPageBytes, 4 * kPageBytes, MREMAP_MAYMOVE, 0);
  ASSERT_GT(moved, 0);
  EXPECT_STREQ(reinterpret_cast<char*>(moved), "text");
  EXPECT_TRUE(memory.regions().is_free(first, first + kPageBytes));
}

// That nothing could be executed there is forgotten too.
TEST_F(AddressSpaceTest, CodeThatComesIsForgotten) {
  const std::uint64_t data = map(0, 2 * kPageBytes, 0, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(engine.forgotten.empty());
  memory.protect(data, kPageBytes, PROT_READ | PROT_EXEC);
  EXPECT_EQ(engine.forgotten.size(), 1u);
  map(0, kPageBytes, 0, PROT_READ | PROT_EXEC);
  EXPECT_EQ(engine.forgotten.size(), 2u);
}

TEST_F(AddressSpaceTest, CodeThatGoesAwayIsForgotten) {
  const std::uint64_t code = map(0, 2 * kPageBytes, 0, PROT_READ | PROT_EXEC);
  engine.forgotten.clear();
  EXPECT_EQ(memory.executable_end(code), code + 2 * kPageBytes);
  memory.protect(code, kPageBytes, PROT_READ);
  ASSERT_EQ(engine.forgotten.size(), 1u);
  EXPECT_EQ(memory.executable_end(code), 0u);
  EXPECT_EQ(memory.executable_end(code + kPageBytes), code + 2 * kPageBytes);
  memory.unmap(code, kPageBytes);
  EXPECT_EQ(engine.forgotten.size(), 1u) << "data needs no forgetting";
  memory.unmap(code + kPageBytes, kPageBytes);
  EXPECT_EQ(engine.forgotten.size(), 2u);
}

// What a transaction wrote may lie in memory that goes away: nothing may be undone there later.
TEST_F(AddressSpaceTest, TransactionsEndBeforeMemoryChanges) {
  const std::uint64_t data = map(0, 4 * kPageBytes);
  EXPECT_EQ(engine.ended_transactions, 0) << "new memory takes nothing away";
  memory.advise(data, kPageBytes, MADV_DONTNEED);
  EXPECT_EQ(engine.ended_transactions, 1);
  memory.protect(data, kPageBytes, PROT_READ);
  EXPECT_EQ(engine.ended_transactions, 2);
  map(data, kPageBytes, MAP_FIXED);
  EXPECT_EQ(engine.ended_transactions, 3);
  memory.unmap(data, 4 * kPageBytes);
  EXPECT_EQ(engine.ended_transactions, 4);
}

TEST_F(AddressSpaceTest, BreakGrowsShrinksAndStopsAtObstacles) {
  memory.start_break(0x18000000);
  EXPECT_EQ(memory.set_break(0), 0x18000000u);
  EXPECT_EQ(memory.set_break(0x18001234), 0x18001234u);
  *reinterpret_cast<char*>(0x18001233) = 1;
  map(0x18010000, kPageBytes, MAP_FIXED);
  EXPECT_EQ(memory.set_break(0x18020000), 0x18001234u);
  EXPECT_EQ(memory.set_break(0x18000000), 0x18000000u);
  EXPECT_TRUE(memory.regions().is_free(0x18000000, 0x18010000));
}

}  // namespace
}  // namespace elision::vm
