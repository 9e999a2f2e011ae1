// SPDX-License-Identifier: Apache-2.0
// Names of this program's own code, and which of several inlined functions uses a lock.
#include "profile/names.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>

#include "profile/inlined_frames.h"

// Read as a mangled type, "m" is unsigned long.
extern "C" {
[[gnu::visibility("hidden")]] extern void* __dso_handle;  // from the start-up files, without a size
extern int m;
int m = 1;
}
// As a symbol of Rust, with a hash.
[[gnu::noinline]] void rust_function() asm("_ZN4core3fmt17h0123456789abcdefE");
void rust_function() { asm volatile(""); }
[[gnu::noinline]] void rust_template() asm("_ZN4core3ptr20drop$LT$std..Box$GT$17h0123456789abcdefE");
void rust_template() { asm volatile(""); }

int in_unit_without_range();  // names_test_unit.cc

namespace elision::profile {
namespace {

struct Base {
  long first = 0;
};
struct Entry : Base {
  long key = 0;
  struct {
    int hits = 0, misses = 0;
  } counts;
  std::atomic<int> state{0};
  union {
    int word = 0;
    char letters[4];
  };
  unsigned low : 4 = 0, high : 12 = 0;
  char flag = 0;
};
Entry table[5][3];
struct Queue {
  [[no_unique_address]] std::less<int> compare;
  long size = 0;
};
Queue queue;
volatile std::uint64_t plain = 0;
struct Only {
  int a = 0;
};
Only only;

/// A lock function: returns to where it was called.
[[gnu::noinline]] const void* take() {
  const void* volatile site = __builtin_return_address(0);
  return site;
}

struct Shape {
  template <class Type>
  [[gnu::noinline]] const void* area(Type width, int) const {
    const void* const site = width > 0 ? take() : nullptr;
    asm volatile("");  // else the call would be a jump
    return site;
  }
  [[gnu::noinline]] operator const void*() const {
    const void* const site = take();
    asm volatile("");
    return site;
  }
  [[gnu::noinline]] const void* operator()(long) const {
    const void* const site = take();
    asm volatile("");
    return site;
  }
};

struct Recorded {
  const void* site = nullptr;
  [[gnu::always_inline]] void lock() { site = take(); }
  void unlock() {}
};

struct Guard {
  [[gnu::always_inline]] explicit Guard(Recorded& lock) { lock.lock(); }
};

struct Account {
  Recorded mutex;
  [[gnu::always_inline]] int pay() {
    const Guard guard(mutex);
    return __LINE__ - 1;
  }
};

[[gnu::noinline]] int transfer(Recorded& mutex) {
  const std::lock_guard<Recorded> guard(mutex);
  return __LINE__ - 1;
}

/// A function of a class within a function.
[[gnu::noinline]] int through_lambda(Recorded& mutex) {
  const auto pay = [&]() __attribute__((always_inline)) {
    const Guard guard(mutex);
    return __LINE__ - 1;
  };
  return pay();
}

[[gnu::noinline]] int through_inlined_function(Account& account) { return account.pay(); }

class NamesTest : public ::testing::Test {
 protected:
  static std::string own_map() {
    std::ostringstream text;
    text << std::ifstream("/proc/self/maps").rdbuf();
    return text.str();
  }
  Place lock_call(const void* site) const { return names_.lock_call(reinterpret_cast<std::uint64_t>(site)); }

  Names names_{own_map()};
};

TEST_F(NamesTest, StandardGuardIsNotWhereALockIsUsed) {
  Recorded mutex;
  const int line = transfer(mutex);
  const Place place = lock_call(mutex.site);
  EXPECT_EQ(place.file, "names_test.cc");
  EXPECT_EQ(place.line, static_cast<unsigned>(line));
  EXPECT_NE(place.name.find("transfer"), std::string::npos) << place.name;
}

TEST_F(NamesTest, InlinedFunctionThatUsesALockIsNamed) {
  Account account;
  const int line = through_inlined_function(account);
  const Place place = lock_call(account.mutex.site);
  EXPECT_EQ(place.file, "names_test.cc");
  EXPECT_EQ(place.line, static_cast<unsigned>(line));
  EXPECT_NE(place.name.find("Account::pay"), std::string::npos) << place.name;
}

TEST_F(NamesTest, InlinedFunctionOfAClassWithinAFunctionIsNamed) {
  Recorded mutex;
  const int line = through_lambda(mutex);
  const Place place = lock_call(mutex.site);
  EXPECT_EQ(place.line, static_cast<unsigned>(line));
  EXPECT_EQ(place.name, "elision::profile::through_lambda::operator()()");
}

TEST_F(NamesTest, UnitWithoutARangeIsBetweenOthers) {
  const Place place = names_.code(reinterpret_cast<std::uint64_t>(&in_unit_without_range));
  EXPECT_EQ(place.file, "names_test_unit.cc");
  EXPECT_EQ(place.line, static_cast<unsigned>(in_unit_without_range()));
}

TEST_F(NamesTest, CompilersNeedNotWriteTheRangesOfUnits) {
  std::string map = own_map();
  const std::string own = std::filesystem::read_symlink("/proc/self/exe");
  for (std::size_t at = 0; (at = map.find(own, at)) != std::string::npos;)
    map.replace(at, own.size(), ELISION_TEST_WITHOUT_ARANGES);
  const Names without_ranges(map);
  const auto start = reinterpret_cast<std::uint64_t>(&take), end = start + 4096;
  unsigned with_line = 0;
  for (std::uint64_t address = start; address < end; address += 7) {
    const std::vector<Place> expected = names_.functions_around(address),
                             found = without_ranges.functions_around(address);
    ASSERT_EQ(found.size(), expected.size()) << address - start;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, expected[i].name);
      EXPECT_EQ(found[i].file, expected[i].file);
      EXPECT_EQ(found[i].line, expected[i].line);
      with_line += found[i].line != 0;
    }
  }
  EXPECT_GT(with_line, 300u);
}

TEST_F(NamesTest, CodeMergedFromAHeaderIsNamedByItsUser) {
  Recorded mutex;
  const int line = transfer(mutex);
  const Place place = names_.code(reinterpret_cast<std::uint64_t>(mutex.site) - 1);
  EXPECT_EQ(place.file, "names_test.cc");
  EXPECT_EQ(place.line, static_cast<unsigned>(line));
  EXPECT_EQ(place.name, "elision::profile::transfer()");
}

TEST_F(NamesTest, FunctionIsNamedWithoutItsSignature) {
  const Shape shape;
  EXPECT_EQ(lock_call(shape.area(3L, 4)).name, "elision::profile::Shape::area<long>()");
  EXPECT_EQ(lock_call(shape(5)).name, "elision::profile::Shape::operator()()");
  EXPECT_EQ(lock_call(static_cast<const void*>(shape)).name,
            "elision::profile::Shape::operator void const*()");
}

TEST_F(NamesTest, NameThatCouldBeAMangledTypeStays) {
  EXPECT_EQ(names_.data(reinterpret_cast<std::uint64_t>(&m)).name, "m");
  EXPECT_EQ(names_.data(reinterpret_cast<std::uint64_t>(&__dso_handle)).name, "");
}

TEST_F(NamesTest, DataHasTheMembersOfItsType) {
  const auto name = [this](const volatile void* address) {
    const std::string all = names_.part_of_data(reinterpret_cast<std::uint64_t>(address)).name;
    EXPECT_EQ(all.find("elision::profile::"), 0u) << all;
    return all.substr(18);
  };
  Entry& entry = table[2][1];
  const auto offset = [](const void* address) {
    const auto from = static_cast<const char*>(address) - reinterpret_cast<const char*>(table);
    std::ostringstream text;
    text << "table+0x" << std::hex << from;
    return text.str();
  };
  EXPECT_EQ(name(&entry.counts.misses), offset(&entry.counts.misses) + " ([2][1].counts.misses)");
  EXPECT_EQ(name(&entry.key), offset(&entry.key) + " ([2][1].key)");
  EXPECT_EQ(name(&entry.first), offset(&entry.first) + " ([2][1].first)") << "of a base";
  EXPECT_EQ(name(&entry.state), offset(&entry.state) + " ([2][1].state)") << "not its members";
  EXPECT_EQ(name(&entry.word), offset(&entry.word) + " ([2][1])") << "one of two members of a union";
  EXPECT_EQ(name(&entry.flag - 2), offset(&entry.flag - 2) + " ([2][1])") << "one of two bit-fields";
  EXPECT_EQ(name(&entry.flag - 1), offset(&entry.flag - 1) + " ([2][1].high)");
  EXPECT_EQ(name(&entry.flag), offset(&entry.flag) + " ([2][1].flag)") << "not the bit-fields before it";
  EXPECT_EQ(name(&queue.size), "queue+0x0 (size)") << "not the empty member there";
  const char* const inside = reinterpret_cast<const char*>(&entry.key) + 3;
  EXPECT_EQ(name(inside), offset(inside) + " ([2][1].key)");
  EXPECT_EQ(name(table), "table+0x0 ([0][0].first)");
  EXPECT_EQ(name(&plain), "plain");
  EXPECT_EQ(name(&only), "only+0x0 (a)");
  const auto at = reinterpret_cast<std::uint64_t>(&entry.key);
  const std::string whole = "elision::profile::" + offset(&entry.key);
  EXPECT_EQ(names_.place_in_file(at, Names::Known::kLine).name, whole);
  EXPECT_EQ(names_.place_in_file(at, Names::Known::kAddress).name, whole + " ([2][1].key)");
}

TEST_F(NamesTest, AddressThatIsNoCodeHasNoPlace) {
  const int here = 0;
  EXPECT_EQ(lock_call(&here).file, "");
  EXPECT_EQ(names_.lock_call(1).line, 0u);
}

/// A stripped program that is not position-independent, as the linker places it.
class StrippedProgramTest : public ::testing::Test {
 protected:
  Names names_{"400000-401000 r--p 00000000 00:00 0 " ELISION_TEST_STRIPPED
               "\n"
               "401000-402000 r-xp 00001000 00:00 0 " ELISION_TEST_STRIPPED "\n"};
};

TEST_F(StrippedProgramTest, CodeIsNamedByTheFilesOwnAddress) {
  EXPECT_EQ(names_.code(0x401013).name, "profile_stripped_program+0x401013");
}

TEST_F(StrippedProgramTest, CallIsNamedByTheAddressItReturnsTo) {
  EXPECT_EQ(names_.lock_call(0x401013).name, "profile_stripped_program+0x401013");
}

InlinedFrame frame(const char* name, const char* file) { return {name, "", file, 1}; }

TEST(Names, WrappersAreFunctionsThatTakeLocksForOthers) {
  for (const char* wrapper : {"kc::RWLock::lock_writer()", "rocksdb::port::Mutex::Lock()", "ReadLock(int)",
                              "TryLock", "acquire", "LockGuard", "lockShared", "std::lock_guard<...>::lock()",
                              "elision::SpinLock<int>::lock", "ScopeGuard::ScopeGuard(int)"})
    EXPECT_TRUE(is_lock_wrapper(wrapper)) << wrapper;
  for (const char* other : {"rocksdb::LRUCacheShard::Lookup(...)", "cache::Block::read()", "Clock::now()",
                            "lock::push(int)", "NewDataBlockIterator", "unlocked_get", "acquire_rows", "main",
                            "program+0x1234", "lock_bench+0x1234", ""})
    EXPECT_FALSE(is_lock_wrapper(other)) << other;
}

TEST(Frames, UserIsTheFirstThatIsNeitherHeaderNorWrapper) {
  const InlinedFrame user = frame("book", "bank.cc"), block = frame("block", "bank.cc");
  const InlinedFrame standard = frame("scoped_lock", "/usr/include/c++/12/mutex");
  const InlinedFrame other_standard = frame("emplace", "/opt/gcc/include/c++/14/deque");
  for (const char* name : {"lock", "Guard"}) {
    const InlinedFrame wrapper = frame(name, "locks.h");
    EXPECT_EQ(frame_of_user({wrapper, user}), 1u) << name;
    EXPECT_EQ(frame_of_user({wrapper, standard, user}), 2u) << name;
    EXPECT_EQ(frame_of_user({wrapper, standard, wrapper}), 2u) << name;
  }
  EXPECT_EQ(frame_of_user({standard, other_standard, user}), 2u);
  EXPECT_EQ(frame_of_user({block, user}), 0u) << "block() is no lock()";
}

TEST_F(NamesTest, SymbolsOfRustHaveNoHash) {
  EXPECT_EQ(names_.code(reinterpret_cast<std::uint64_t>(&rust_function)).name, "core::fmt");
  std::uint64_t offset = 0;
  EXPECT_EQ(names_.symbol(reinterpret_cast<std::uint64_t>(&rust_template), offset),
            "core::ptr::drop<std::Box>");
}

TEST(MadeCode, HasTheNamesOfThePerfMap) {
  Names names("");
  names.add_made_code(
      "1000 20 first\n"
      "1020 10 Lists.add(int) [tier 2]\n"
      "no numbers\n"
      "2000 0 empty\n"
      "3000\n"
      "ffffffffffffff00 200 around the end\n"
      "2000 100 old\n2010 10 new\n"
      "4000 8 without an end of line");
  const auto found = [&names](std::uint64_t address) {
    std::uint64_t offset = 77;
    const std::string name = names.symbol(address, offset);
    return name.empty() ? name : name + "+" + std::to_string(offset);
  };
  EXPECT_EQ(found(0xfff), "");
  EXPECT_EQ(found(0x1000), "first+0");
  EXPECT_EQ(found(0x101f), "first+31");
  EXPECT_EQ(found(0x1025), "Lists.add(int) [tier 2]+5");
  EXPECT_EQ(found(0x1030), "");
  EXPECT_EQ(found(0x2000), "") << "code that was replaced is gone";
  EXPECT_EQ(found(0x2015), "new+5");
  EXPECT_EQ(found(0x3000), "");
  EXPECT_EQ(found(0x4007), "without an end of line+7");
  EXPECT_EQ(found(0xffffffffffffff80), "");
}

}  // namespace
}  // namespace elision::profile
