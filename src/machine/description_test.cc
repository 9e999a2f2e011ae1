// SPDX-License-Identifier: Apache-2.0
// Machine files: the values of the built-in ones, and one clear line for every error.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "machine/built_in.h"
#include "machine/description_toml.h"

namespace elision::machine {
namespace {

std::string xeon_text() {
  for (const BuiltInMachine& machine : built_in_machine_files()) {
    if (machine.name == "xeon-e5-2697v4") return std::string(machine.text);
  }
  return "";
}

/// The default machine's file with the first `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = xeon_text();
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const Result<Machine> machine = parse_machine(text, "test.toml");
  return machine ? "(no error)" : machine.error();
}

TEST(BuiltInMachines, AreListedAndLoad) {
  EXPECT_EQ(built_in_machines(),
            (std::vector<std::string>{"core-i7-4770", "core-i7-5960x", "core-i7-6850k", "core-i7-6920hq",
                                      "intel-6-167-2", "intel-6-167-3", "intel-6-167", "xeon-6747p",
                                      "xeon-e5-2660v4", "xeon-e5-2697v4", "xeon-e5-2699v3-x2",
                                      "xeon-e7-4830v4", "xeon-gold-5520plus"}));
  for (const std::string& name : built_in_machines()) {
    const Result<Machine> machine = load_machine(name);
    EXPECT_TRUE(machine) << machine.error();
  }
}

TEST(BuiltInMachines, EveryValueButTheNameHasASource) {
  for (const std::string& name : built_in_machines()) {
    const Result<Machine> machine = load_machine(name);
    ASSERT_TRUE(machine);
    for (const ValueRecord& record : machine->values) {
      if (record.field == "name") continue;
      EXPECT_GT(record.source.size(), 8u) << name << " " << record.field;
    }
  }
}

TEST(BuiltInMachines, XeonSaysWhatItsSourcesSay) {
  const Result<Machine> machine = load_machine("xeon-e5-2697v4");
  ASSERT_TRUE(machine);
  const Description& d = machine->description;
  EXPECT_STREQ(d.name, "Intel Xeon E5-2697 v4");
  EXPECT_STREQ(d.cpuid.brand, "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz");
  EXPECT_EQ(d.frequency_mhz, 2300u);
  EXPECT_EQ(d.core_mhz, 2300u);
  EXPECT_EQ(d.topology.cpus(), 18u);
  EXPECT_EQ(d.l1d.sets(), 64u);
  EXPECT_EQ(d.l3.lines(), 45u * 1024 * 16);
  EXPECT_EQ(d.l3.latency_cycles, 56u);
  EXPECT_EQ(d.transactions.aborted_lines, AbortedLines::kInL1);
  EXPECT_TRUE(d.transactions.vzeroupper_aborts);
  EXPECT_TRUE(d.conflict_detection);
}

TEST(BuiltInMachines, SiblingsAreNumberedBehindAllCores) {
  const Result<Machine> machine = load_machine("core-i7-5960x");
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->description.topology.cpus(), 16u);
  EXPECT_EQ(machine->description.topology.core_of(3), machine->description.topology.core_of(11));
  EXPECT_EQ(machine->description.topology.thread_of(3), 0u);
  EXPECT_EQ(machine->description.topology.thread_of(11), 1u);
}

TEST(MachineFile, ErrorsNameFileFieldAndNearestName) {
  EXPECT_EQ(error_of(changed("slices = 18", "slicse = 18")),
            "test.toml: l3.slicse: unknown field; the nearest is l3.slices");
  EXPECT_EQ(error_of(changed("[memory]", "[memroy]")),
            "test.toml: memroy: unknown field; the nearest is memory");
  EXPECT_EQ(error_of(changed("slices = 18", "")), "test.toml: l3.slices: missing");
  EXPECT_EQ(error_of(changed("slices = 18", "slices = \"18\"")),
            "test.toml: l3.slices: must be an integer, is a string");
  EXPECT_EQ(error_of(changed("slices = 18", "slices = 18.0")),
            "test.toml: l3.slices: must be an integer, is a floating-point number");
  EXPECT_EQ(error_of(changed("slices = 18", "slices = 0")),
            "test.toml: l3.slices: must lie between 1 and 128, is 0");
  EXPECT_EQ(error_of(changed("slices = 18", "slices = -1")),
            "test.toml: l3.slices: must lie between 1 and 128, is -1");
  EXPECT_EQ(error_of(changed("inclusive = true", "inclusive = 1")),
            "test.toml: l3.inclusive: must be true or false, is an integer");
  EXPECT_EQ(error_of(changed("\"l1\"", "\"l1d\"")),
            "test.toml: transactions.aborted_lines: unknown value \"l1d\"; the nearest is l1");
  EXPECT_EQ(error_of(changed("low = 14.7", "lwo = 14.7")),
            "test.toml: l3.latency_ns: lwo: unknown key; the nearest is low");
  EXPECT_EQ(error_of(changed("low = 14.7", "low = 24.301")),
            "test.toml: l3.latency_ns: best must lie between low and high");
  EXPECT_EQ(error_of(changed("low = 14.7, ", "")),
            "test.toml: l3.latency_ns: an interval needs both low and high");
  EXPECT_EQ(error_of(changed("sockets = 1", "sockets = 9")),
            "test.toml: topology.sockets: must lie between 1 and 8, is 9");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,l3.slices=7").error(),
            "l3.slices: the number of sets in a slice is not a power of two");
  EXPECT_EQ(load_machine("core-i7-4770,l3.slices=16").error(), "l3.slices: fewer than 1024 sets in a slice");
  EXPECT_TRUE(load_machine("core-i7-4770,l3.slices=8"));
  EXPECT_EQ(error_of(changed("size_kb = 32", "size_kb = 33")),
            "test.toml: l1d.size_kb: the number of sets is not a power of two");
}

TEST(MachineFile, NanosecondsHaveUpToThreeDecimals) {
  const auto picoseconds = [](const std::string& text) {
    const Result<Machine> machine = load_machine("xeon-e5-2697v4,memory.latency_ns=" + text);
    return machine ? std::to_string(machine->description.uncore.memory_latency_ps) : machine.error();
  };
  EXPECT_EQ(picoseconds("70"), "70000");
  EXPECT_EQ(picoseconds("70.1"), "70100");
  EXPECT_EQ(picoseconds("70.123"), "70123");
  const std::string refusal = "memory.latency_ns: must be a number with at most three decimals, is ";
  for (const char* bad : {"70.1234", "70.", ".5", "-.5", "7e1", "1.-5", "nan", ""})
    EXPECT_EQ(picoseconds(bad), refusal + '"' + bad + '"');
  EXPECT_EQ(picoseconds("-0.5"), "memory.latency_ns: must lie between 0.001 and 50000, is -0.5");
  EXPECT_EQ(picoseconds("50000.001"), "memory.latency_ns: must lie between 0.001 and 50000, is 50000.001");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,l3.slices=18.0").error(),
            "l3.slices: must be an integer, is \"18.0\"");
}

TEST(MachineFile, NumberThatNoIntegerHoldsIsOutOfBounds) {
  for (const char* bad : {"99999999999999999999", "-99999999999999999999"})
    EXPECT_EQ(load_machine(std::string("xeon-e5-2697v4,l3.slices=") + bad).error(),
              std::string("l3.slices: must lie between 1 and 128, is ") + bad);
}

TEST(MachineFile, TimesOutsideTheCoreAreConvertedAtTheCoreClock) {
  const auto cycles = [](const std::string& clock) {
    const Description d = load_machine("xeon-e5-2697v4,clock.core_mhz=" + clock)->description;
    return std::vector<std::uint32_t>{d.l3.latency_cycles, d.memory_latency_cycles,
                                      d.coherence.dirty_transfer_cycles, d.l2.latency_cycles,
                                      d.memory_line_time};
  };
  EXPECT_EQ(cycles("2300"), (std::vector<std::uint32_t>{56, 161, 95, 12, 554}));
  EXPECT_EQ(cycles("3600"), (std::vector<std::uint32_t>{87, 252, 149, 12, 867}));
  EXPECT_EQ(load_machine("xeon-e5-2697v4,l3.latency_ns=4").error(), "l3.latency_ns: below that of l2");
}

TEST(MachineFile, TimeAboveZeroTakesACycleAtLeast) {
  EXPECT_EQ(load_machine("xeon-e5-2697v4,coherence.upgrade_ns=0.001")->description.coherence.upgrade_cycles,
            1u);
  EXPECT_EQ(load_machine("xeon-e5-2697v4,coherence.request_ns=0")->description.coherence.request_cycles, 0u);
}

TEST(MachineFile, ValueWithoutSourceIsRejected) {
  EXPECT_EQ(error_of(changed(", source = \"70 ns", ", sorce = \"70 ns")),
            "test.toml: memory.latency_ns: sorce: unknown key; the nearest is source");
  EXPECT_EQ(error_of(changed("source = \"InstLatx64 406F1_BroadwellE_CPUID4; signature 406F1\"", "")),
            "test.toml: cpuid.family: no source, neither here nor for its table");
}

TEST(MachineFile, SyntaxErrorsNameTheLine) {
  EXPECT_EQ(error_of("name = \"x\"\n[l3\n").rfind("test.toml: line 2: ", 0), 0u)
      << error_of("name = \"x\"\n[l3\n");
  EXPECT_EQ(error_of("").rfind("test.toml: name: missing", 0), 0u);
}

TEST(MachineFile, ErrorsAreAlwaysOneLine) {
  EXPECT_EQ(error_of("\"na\\nme\" = 1\n"), "test.toml: na\\nme: unknown field; the nearest is name");
  EXPECT_EQ(error_of(changed("\"l1\"", "\"l\\n1\"")),
            "test.toml: transactions.aborted_lines: unknown value \"l\\n1\"; the nearest is l1");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,l3.\nways=1").error(),
            "l3.\\nways: unknown field of a machine; the nearest is l3.ways");
}

TEST(MachineFile, LetterOutsideStringIsSyntaxError) {
  for (const char* letter : {"\u00e9", "\u0444", "\u2003x", "\u5b57"}) {
    EXPECT_EQ(error_of(letter).rfind("test.toml: line 1: ", 0), 0u) << error_of(letter);
    EXPECT_EQ(
        error_of(changed("slices = 18", std::string("slices = ") + letter)).rfind("test.toml: line ", 0), 0u);
  }
}

TEST(MachineFile, TextWithControlCharactersIsRejected) {
  for (const char* bad : {"a\\nb", "a\\u0000b", "a\\u001b[31mb"}) {
    EXPECT_EQ(error_of(changed("name = \"Intel", "name = \"" + std::string(bad))),
              "test.toml: name: must not contain control characters")
        << bad;
  }
}

TEST(LoadMachine, UnknownNamesAndFilesAreNamed) {
  EXPECT_EQ(
      load_machine("xeon-e5-2697").error(),
      "unknown machine \"xeon-e5-2697\"; the nearest is xeon-e5-2697v4 (a file needs a slash or .toml in "
      "its name)");
  EXPECT_EQ(load_machine("./nowhere.toml").error(),
            "cannot read machine file \"./nowhere.toml\": No such file or directory");
  EXPECT_EQ(load_machine("/").error(), "cannot read machine file \"/\": Is a directory");
  EXPECT_EQ(load_machine("/dev/zero").error(),
            "cannot read machine file \"/dev/zero\": it is not a regular file");
}

TEST(LoadMachine, NamesWithoutANearOneGetNoSuggestion) {
  EXPECT_EQ(
      load_machine("pentium").error(),
      "unknown machine \"pentium\"; 'elision machines' lists them (a file needs a slash or .toml in its "
      "name)");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,foo.bar=3").error(), "foo.bar: unknown field of a machine");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,transactions.aborted_lines=memory").error(),
            "transactions.aborted_lines: unknown value \"memory\"; known are l1, l2, lost");
  EXPECT_EQ(error_of(changed("slices = 18", "pieces_of_cache = 18")),
            "test.toml: l3.pieces_of_cache: unknown field");
  EXPECT_EQ(error_of(changed("low = 14.7", "minimum = 14.7")),
            "test.toml: l3.latency_ns: minimum: unknown key; known are best, value, low, high, alternatives, "
            "source");
}

TEST(LoadMachine, ChangesSingleFields) {
  const Result<Machine> machine =
      load_machine("xeon-e5-2697v4,transactions.aborted_lines=lost,core.outstanding_stores=3");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(machine->description.transactions.aborted_lines, AbortedLines::kLost);
  EXPECT_EQ(machine->description.core.outstanding_stores, 3u);
  EXPECT_EQ(load_machine("xeon-e5-2697v4,core.outstanding_store=3").error(),
            "core.outstanding_store: unknown field of a machine; the nearest is core.outstanding_stores");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,core.outstanding_stores=x").error(),
            "core.outstanding_stores: must be an integer, is \"x\"");
  EXPECT_EQ(load_machine("xeon-e5-2697v4,core.outstanding_stores").error(),
            "machine change \"core.outstanding_stores\": must be table.key=value");
}

TEST(RenderMachine, ShowsValueIntervalAndSource) {
  const Result<Machine> machine = load_machine("xeon-e5-2697v4");
  ASSERT_TRUE(machine);
  const std::string text = render_machine(*machine);
  EXPECT_NE(text.find("24.3 (14.7 to 25.7)"), text.npos);
  EXPECT_NE(text.find("l1 (or l2, lost)"), text.npos);
  EXPECT_NE(text.find("Intel forum topic 700477"), text.npos);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), machine->values.size());
}

TEST(RenderMachine, ShowsOneLinePerValue) {
  const Result<Machine> machine = parse_machine(
      changed("source = \"InstLatx64 406F1_BroadwellE_CPUID4; signature 406F1\"", "source = \"a\\nb\""), "x");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_NE(render_machine(*machine).find("a\\nb\n"), std::string::npos);
}

TEST(RenderMachine, ShowsOnlyNumbersAsIntervals) {
  const Result<Machine> machine = parse_machine(
      changed("brand = \"Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz\"",
              "brand = { best = \"2.3 GHz\", alternatives = [\"2.4 GHz\", \"2.5 GHz\"], source = \"s\" }"),
      "x");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_NE(render_machine(*machine).find("2.3 GHz (or 2.4 GHz, 2.5 GHz)"), std::string::npos);
}

}  // namespace
}  // namespace elision::machine
