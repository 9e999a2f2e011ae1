// SPDX-License-Identifier: Apache-2.0
// Counter slots and entries, and the reader of what they hold.
#include "runtime/region.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "abi/counters_reader.h"
#include "locks/recorder.h"

namespace elision::runtime {
namespace {

const void* address(std::uint64_t number) { return reinterpret_cast<const void*>(number); }

/// Publishes `region`, and the calling thread's slot in it.
abi::CounterSlot& slot_of_published(Region& region) {
  region.open(nullptr);
  region.header().version = abi::kCountersVersion;
  region.publish();
  bool shared;
  return region.claim_slot(static_cast<std::uint32_t>(gettid()), shared);
}

TEST(Entries, OneEntryPerLockAndSite) {
  auto slot = std::make_unique<abi::CounterSlot>();
  abi::CounterEntry& first = entry_of(*slot, address(0x1000), address(1));
  abi::CounterEntry& second = entry_of(*slot, address(0x1000), address(2));
  abi::CounterEntry& third = entry_of(*slot, address(0x2000), address(1));
  EXPECT_EQ((std::set{&first, &second, &third}).size(), 3u);
  EXPECT_EQ(&entry_of(*slot, address(0x1000), address(1)), &first);
  EXPECT_EQ(first.lock, 0x1000u);
  EXPECT_EQ(first.site, 1u);
  EXPECT_EQ(slot->entries_used, 3u);
}

TEST(Entries, OverflowEntriesAreMergedAndCounted) {
  auto slot = std::make_unique<abi::CounterSlot>();
  std::uint64_t merged = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    if (&entry_of(*slot, address(i * 64), address(i)) == &slot->entries[0]) ++merged;
  }
  EXPECT_EQ(merged + slot->entries_used, 1000u);
  EXPECT_EQ(slot->merged, merged);
  EXPECT_GT(slot->entries_used, 100u);
  EXPECT_EQ(slot->entries[0].lock, 0u);
}

TEST(Region, EachThreadGetsSlotThenSharedOne) {
  Region region;
  region.open(nullptr);
  region.publish();
  std::set<abi::CounterSlot*> slots;
  bool shared = false;
  // This thread lives, so its slots cannot be taken over.
  for (std::uint32_t i = 1; i < abi::kCounterSlots; ++i) {
    slots.insert(&region.claim_slot(static_cast<std::uint32_t>(gettid()), shared));
    ASSERT_FALSE(shared);
  }
  EXPECT_EQ(slots.size(), abi::kCounterSlots - 1u);
  EXPECT_EQ(&region.claim_slot(1, shared), &region.shared_slot());
  EXPECT_TRUE(shared);
  EXPECT_EQ(slots.count(&region.shared_slot()), 0u);
}

TEST(Reader, SumsSlotsAndRefusesForeignFiles) {
  Region region;
  region.open(nullptr);
  abi::CountersHeader& header = region.header();
  header.version = abi::kCountersVersion;
  EXPECT_FALSE(abi::sum_counters(&header, abi::kCountersFileBytes).has_value()) << "not yet published";
  region.publish();
  bool shared;
  for (int thread = 0; thread < 2; ++thread) {
    abi::CounterSlot& slot = region.claim_slot(static_cast<std::uint32_t>(gettid()), shared);
    slot.activity.position = 11;  // 10 of them free
    const locks::Recorder recorder(entry_of(slot, address(64), address(1)), thread == 1);
    recorder.acquired(0);
    recorder.fell_back();
    recorder.committed(100 + static_cast<std::uint64_t>(thread));
    recorder.abort(abi::AbortCause::kCapacity);
    recorder.speculation();
    recorder.busy();
  }
  const auto totals = abi::sum_counters(&header, abi::kCountersFileBytes);
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(totals->acquisitions, 22u);
  EXPECT_EQ(totals->uncontended, 20u);
  EXPECT_EQ(totals->commits, 2u);
  EXPECT_EQ(totals->sections(), 24u);
  EXPECT_EQ(totals->fallbacks, 2u);
  EXPECT_EQ(totals->speculations, 2u);
  EXPECT_EQ(totals->busy, 2u);
  EXPECT_EQ(totals->aborts[static_cast<std::size_t>(abi::AbortCause::kCapacity)], 2u);
  EXPECT_EQ(totals->aborts_total(), 2u);
  EXPECT_EQ(totals->wait_ticks, 201u);
  EXPECT_EQ(totals->longest_wait_ticks, 101u);
  EXPECT_EQ(totals->threads, 2u);
  EXPECT_TRUE(totals->interposed_locks_seen);
  EXPECT_FALSE(abi::sum_counters(&header, abi::kCountersHeaderBytes - 1).has_value()) << "cut off";
  EXPECT_FALSE(abi::sum_counters(&header, abi::kCountersHeaderBytes + 100).has_value())
      << "cut off in the slots";
  header.version = abi::kCountersVersion + 1;
  EXPECT_FALSE(abi::sum_counters(&header, abi::kCountersFileBytes).has_value()) << "another version";
}

TEST(Reader, SumsByLockHaveThoseWithoutAPlaceUnderZero) {
  Region region;
  abi::CounterSlot& slot = slot_of_published(region);
  const locks::Recorder placed(entry_of(slot, address(64), address(1)), false);
  placed.committed(0);
  placed.acquired(0);
  const locks::Recorder other_site(entry_of(slot, address(64), address(2)), false);
  other_site.committed(0);
  const locks::Recorder without_place(slot.entries[0], false);
  without_place.abort(abi::AbortCause::kConflict);
  const auto sums = abi::sums_by_lock(&region.header(), abi::kCountersFileBytes);
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums.at(64).commits, 2u);
  EXPECT_EQ(sums.at(64).acquisitions, 1u);
  EXPECT_EQ(sums.at(0).aborts[static_cast<std::size_t>(abi::AbortCause::kConflict)], 1u);
  EXPECT_TRUE(abi::sums_by_lock(&region.header(), abi::kCountersHeaderBytes - 1).empty()) << "cut off";
}

TEST(Reader, LocksThatOnlyTheApiCountedAddNone) {
  Region region;
  abi::CounterSlot& slot = slot_of_published(region);
  slot.activity.position = 2;
  slot.activity.taken_elsewhere = 3;
  slot.shared_taken = 1;
  const auto totals = abi::sum_counters(&region.header(), abi::kCountersFileBytes);
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(totals->acquisitions, 1u);
  EXPECT_EQ(totals->uncontended, 1u);
}

}  // namespace
}  // namespace elision::runtime
