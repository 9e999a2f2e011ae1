// SPDX-License-Identifier: Apache-2.0
// Broken programs of every kind, made in a folder of their own.
#include "vm/linux/load/loader.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "vm/interface/fake_engine.h"

namespace elision::vm {
namespace {

struct TinyElf {
  Elf64_Ehdr header{};
  Elf64_Phdr segments[2]{};
  char code[64]{};

  TinyElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phoff = offsetof(TinyElf, segments);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    header.e_entry = offsetof(TinyElf, code);
    segments[0] = {PT_LOAD, PF_R | PF_X, 0, 0, 0, sizeof *this, sizeof *this, kPageBytes};
    segments[1] = {PT_LOAD, PF_R | PF_W, 0, 0x2000, 0, 16, 0x3000, kPageBytes};
  }
};

class LoaderTest : public testing::Test {
 protected:
  LoaderTest() {
    char name[] = "/tmp/loader_testXXXXXX";
    folder = mkdtemp(name);
  }
  ~LoaderTest() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& contents, mode_t mode = 0755) {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << contents;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string elf(const TinyElf& elf, std::size_t size = sizeof(TinyElf)) {
    return file("elf", std::string(reinterpret_cast<const char*>(&elf), size));
  }
  static Fallible<CheckedProgram> check(const std::string& path,
                                        std::vector<std::string> arguments = {"zero", "one"}) {
    return check_program({path, std::move(arguments), {}, -1});
  }
  /// One line that names the file and holds `word`.
  static void expect_failure(const std::string& path, int error, const std::string& word) {
    const auto result = check(path);
    ASSERT_FALSE(result.ok()) << path;
    EXPECT_EQ(result.failure().error, error) << result.failure().message;
    EXPECT_NE(result.failure().message.find(path), std::string::npos) << result.failure().message;
    EXPECT_NE(result.failure().message.find(word), std::string::npos) << result.failure().message;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
  }

  std::string folder;
};

TEST_F(LoaderTest, AcceptsATinyElf) {
  const auto result = check(elf(TinyElf()));
  ASSERT_TRUE(result.ok()) << result.failure().message;
  EXPECT_EQ(result->image.low, 0u);
  EXPECT_EQ(result->image.high, 0x5000u);
  EXPECT_TRUE(result->image.position_independent);
}

TEST_F(LoaderTest, RefusesWhatIsNoProgram) {
  expect_failure(folder + "/missing", ENOENT, "No such file");
  expect_failure(folder, EACCES, "directory");
  expect_failure("/dev/null", EACCES, "regular file");
  expect_failure(file("text", "just text"), ENOEXEC, "neither");
  expect_failure(file("empty", ""), ENOEXEC, "neither");
  if (geteuid() != 0) expect_failure(file("secret", "x", 0), EACCES, "Permission");
  expect_failure(file("plain", "#!/bin/sh\n", 0644), EACCES, "not executable");
}

TEST_F(LoaderTest, RefusesForeignElfs) {
  TinyElf narrow, other, big_endian, unknown_class, unknown_order, object, headless;
  narrow.header.e_ident[EI_CLASS] = ELFCLASS32;
  expect_failure(elf(narrow), ENOEXEC, "32-bit");
  expect_failure(elf(narrow, 52), ENOEXEC, "32-bit");
  other.header.e_machine = EM_AARCH64;
  expect_failure(elf(other), ENOEXEC, "another CPU");
  big_endian.header.e_ident[EI_DATA] = ELFDATA2MSB;
  expect_failure(elf(big_endian), ENOEXEC, "another CPU (big-endian)");
  unknown_class.header.e_ident[EI_CLASS] = ELFCLASSNONE;
  expect_failure(elf(unknown_class), ENOEXEC, "malformed");
  unknown_order.header.e_ident[EI_DATA] = ELFDATANONE;
  expect_failure(elf(unknown_order), ENOEXEC, "malformed");
  object.header.e_type = ET_REL;
  expect_failure(elf(object), ENOEXEC, "not a program");
  headless.header.e_phnum = 0;
  expect_failure(elf(headless), ENOEXEC, "malformed");
}

TEST_F(LoaderTest, RefusesTruncatedElfsAtEveryLength) {
  const TinyElf whole;
  for (std::size_t size = SELFMAG + 1; size < sizeof whole; ++size) {
    const auto result = check(elf(whole, size));
    ASSERT_FALSE(result.ok()) << size;
    EXPECT_NE(result.failure().message.find("truncated"), std::string::npos) << size;
  }
}

TEST_F(LoaderTest, RefusesMalformedSegments) {
  const auto with = [&](auto change) {
    TinyElf broken;
    change(broken);
    return elf(broken);
  };
  expect_failure(with([](TinyElf& e) { e.segments[1].p_filesz = 0x4000; }), ENOEXEC, "larger in the file");
  expect_failure(with([](TinyElf& e) { e.segments[1].p_offset = 3; }), ENOEXEC, "do not agree");
  expect_failure(with([](TinyElf& e) { e.segments[1].p_vaddr = ~0ull - 0xfff; }), ENOEXEC, "out of range");
  expect_failure(with([](TinyElf& e) { e.segments[1].p_memsz = ~0ull; }), ENOEXEC, "out of range");
  expect_failure(with([](TinyElf& e) { std::swap(e.segments[0], e.segments[1]); }), ENOEXEC, "ascending");
  expect_failure(with([](TinyElf& e) { e.segments[0].p_type = e.segments[1].p_type = PT_NOTE; }), ENOEXEC,
                 "nothing to load");
  expect_failure(with([](TinyElf& e) { e.header.e_phoff = ~0ull - 8; }), ENOEXEC, "program headers");
  expect_failure(with([](TinyElf& e) {
                   e.segments[1].p_type = PT_INTERP;
                   e.segments[1].p_filesz = ~0ull;
                 }),
                 ENOEXEC, "interpreter");
}

TEST_F(LoaderTest, InvalidAlignmentIsIgnored) {
  for (const std::uint64_t odd : {3ull, 0x3000ull, 0x201000ull, ~0ull}) {
    TinyElf program;
    program.segments[0].p_align = odd;
    const auto alone = check(elf(program));
    ASSERT_TRUE(alone.ok()) << odd << ": " << alone.failure().message;
    EXPECT_EQ(alone->image.alignment, kPageBytes) << odd;
    program.segments[1].p_align = 0x4000;
    const auto beside = check(elf(program));
    ASSERT_TRUE(beside.ok()) << odd << ": " << beside.failure().message;
    EXPECT_EQ(beside->image.alignment, 0x4000u) << odd;
  }
}

TEST_F(LoaderTest, NamesAMissingDynamicLoader) {
  TinyElf program;
  program.segments[1] = {PT_INTERP, PF_R, offsetof(TinyElf, code), 0, 0, 12, 12, 1};
  std::strcpy(program.code, "/none/ld.so");
  expect_failure(elf(program), ENOENT, "/none/ld.so");
}

TEST_F(LoaderTest, FollowsScriptLines) {
  const std::string program = elf(TinyElf());
  const std::string script = file("script", "#! " + program + "  -a  b \nrest\n");
  const auto result = check(script);
  ASSERT_TRUE(result.ok()) << result.failure().message;
  EXPECT_EQ(result->arguments, (std::vector<std::string>{program, "-a  b", script, "one"}));
  EXPECT_EQ(result->path, script);
  const auto nested = check(file("nested", "#!" + script + "\n"));
  ASSERT_TRUE(nested.ok());
  EXPECT_EQ(nested->arguments,
            (std::vector<std::string>{program, "-a  b", script, folder + "/nested", "one"}));
}

TEST_F(LoaderTest, RefusesBadScripts) {
  expect_failure(file("orphan", "#!/none/interpreter\n"), ENOENT, "/none/interpreter");
  expect_failure(file("nameless", "#!   \n"), ENOEXEC, "names no interpreter");
  const std::string loop = folder + "/loop";
  file("loop", "#!" + loop + "\n");
  expect_failure(loop, ELOOP, "levels");
}

TEST_F(LoaderTest, SearchesThePath) {
  file("tool", "x", 0644);
  std::filesystem::create_directory(folder + "/bin");
  file("bin/tool", "x");
  EXPECT_EQ(find_program("tool", folder + ":" + folder + "/bin").value(), folder + "/bin/tool");
  EXPECT_EQ(find_program("tool", folder).failure().error, EACCES);
  EXPECT_EQ(find_program("other", folder).failure().error, ENOENT);
  EXPECT_EQ(find_program("a/b", folder).value(), "a/b");
}

TEST_F(LoaderTest, BuildsTheInitialStack) {
  FakeEngine engine;
  AddressSpace memory(engine);
  const auto program = check(elf(TinyElf()));
  const auto loaded =
      load_program(memory, engine, program.value(), {"A=1", "B=2"}, MachineIdentity{}, kNoLimits);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  EXPECT_EQ(loaded->stack_pointer % 16, 0u);
  const auto* words = reinterpret_cast<const std::uint64_t*>(loaded->stack_pointer);
  EXPECT_EQ(words[0], 2u);
  EXPECT_STREQ(reinterpret_cast<const char*>(words[1]), "zero");
  EXPECT_STREQ(reinterpret_cast<const char*>(words[2]), "one");
  EXPECT_EQ(words[3], 0u);
  EXPECT_STREQ(reinterpret_cast<const char*>(words[5]), "B=2");
  EXPECT_EQ(words[6], 0u);
  std::map<std::uint64_t, std::uint64_t> auxiliary;
  for (const std::uint64_t* pair = words + 7; pair[0] != AT_NULL; pair += 2) auxiliary[pair[0]] = pair[1];
  EXPECT_EQ(auxiliary[AT_ENTRY], loaded->entry);
  EXPECT_EQ(auxiliary[AT_PHNUM], 2u);
  EXPECT_EQ(auxiliary[AT_PHDR], loaded->entry - offsetof(TinyElf, code) + offsetof(TinyElf, segments));
  EXPECT_FALSE(auxiliary.contains(AT_SYSINFO_EHDR));
  EXPECT_EQ(auxiliary[AT_HWCAP2], 0u);
  const auto* bss = reinterpret_cast<const char*>(loaded->entry - offsetof(TinyElf, code) + 0x2000);
  EXPECT_EQ(std::memcmp(bss, ELFMAG, SELFMAG), 0) << "16 bytes from the file";
  for (int i = 16; i < 0x3000; ++i) ASSERT_EQ(bss[i], 0) << i;
  const auto regions = memory.regions().regions();
  for (const auto& [begin, region] : regions) memory.unmap(begin, region.end - begin);
}

}  // namespace
}  // namespace elision::vm
