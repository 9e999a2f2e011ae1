// SPDX-License-Identifier: Apache-2.0
// Every kind of file that is no program for this CPU gets a line that names it and says why.
#include "cli/host/program_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <functional>

#include "cli/host/temp_directory.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

class ProgramFile : public ::testing::Test {
 protected:
  std::string make(const std::string& content, mode_t mode = 0755) {
    const std::string file = directory_.path() / "file";
    std::ofstream(file, std::ios::binary) << content;
    chmod(file.c_str(), mode);
    return file;
  }

  static std::string complaint(const std::function<void()>& action) {
    try {
      action();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }
  std::string complaint_about(const std::string& content) {
    const std::string file = make(content);
    return complaint([&] { check_program(file); });
  }

  // A program of one segment of 100 bytes; `edit` damages it.
  static std::string elf(const std::function<void(Elf64_Ehdr&, Elf64_Phdr&)>& edit) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_filesz = sizeof header + sizeof segment + 100;
    edit(header, segment);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    return bytes + std::string(100, 'x');
  }

  TempDirectory directory_;
};

TEST_F(ProgramFile, WholeProgramIsAccepted) {
  EXPECT_EQ(complaint_about(elf([](auto&, auto&) {})), "accepted");
  EXPECT_EQ(complaint([] { check_program("/proc/self/exe"); }), "accepted");
}

TEST_F(ProgramFile, ForeignAndDamagedProgramsAreNamed) {
  const auto foreign = elf([](Elf64_Ehdr& header, auto&) { header.e_machine = EM_AARCH64; });
  EXPECT_NE(complaint_about(foreign).find("another CPU"), std::string::npos);
  const auto big_endian = elf([](Elf64_Ehdr& header, auto&) { header.e_ident[EI_DATA] = ELFDATA2MSB; });
  EXPECT_NE(complaint_about(big_endian).find("another CPU (big-endian)"), std::string::npos);
  const auto unknown_class = elf([](Elf64_Ehdr& header, auto&) { header.e_ident[EI_CLASS] = ELFCLASSNONE; });
  EXPECT_NE(complaint_about(unknown_class).find("malformed"), std::string::npos);
  const auto unknown_order = elf([](Elf64_Ehdr& header, auto&) { header.e_ident[EI_DATA] = ELFDATANONE; });
  EXPECT_NE(complaint_about(unknown_order).find("malformed"), std::string::npos);
  const auto narrow = elf([](Elf64_Ehdr& header, auto&) { header.e_ident[EI_CLASS] = ELFCLASS32; });
  EXPECT_NE(complaint_about(narrow).find("32-bit"), std::string::npos);
  EXPECT_NE(complaint_about(narrow.substr(0, 52)).find("32-bit"), std::string::npos);
  const auto object = elf([](Elf64_Ehdr& header, auto&) { header.e_type = ET_REL; });
  EXPECT_NE(complaint_about(object).find("not a program"), std::string::npos);
  const auto no_segments = elf([](Elf64_Ehdr& header, auto&) { header.e_phnum = 0; });
  EXPECT_NE(complaint_about(no_segments).find("malformed"), std::string::npos);
}

TEST_F(ProgramFile, TruncationIsFoundWhereverTheFileEnds) {
  const std::string whole = elf([](auto&, auto&) {});
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{20}, std::size_t{80}, whole.size() - 1}) {
    EXPECT_NE(complaint_about(whole.substr(0, bytes)).find("truncated"), std::string::npos) << bytes;
  }
}

TEST_F(ProgramFile, ScriptsNeedAnInterpreterThatExists) {
  EXPECT_EQ(complaint_about("#!/bin/sh\necho\n"), "accepted");
  EXPECT_EQ(complaint_about("#! /bin/sh -e\n"), "accepted");
  EXPECT_EQ(complaint_about("#!/bin/sh"), "accepted");
  EXPECT_NE(complaint_about("#!/no/such/interpreter -x\n").find("'/no/such/interpreter'"), std::string::npos);
  EXPECT_NE(complaint_about("#!\n").find("names no interpreter"), std::string::npos);
  EXPECT_NE(complaint_about("echo hello\n").find("neither"), std::string::npos);
  EXPECT_NE(complaint_about("").find("empty"), std::string::npos);
}

TEST_F(ProgramFile, NamesAreLookedUpAsAShellDoes) {
  make("#!/bin/sh\n");
  const std::string directory = directory_.path();
  EXPECT_EQ(find_program("file", "/nowhere:" + directory), directory + "/file");
  EXPECT_EQ(complaint([] { find_program("file", "/nowhere"); }), "no program 'file' in PATH");
  EXPECT_EQ(complaint([] { find_program("/no/such", ""); }), "no program '/no/such': no such file");
  EXPECT_NE(complaint([&] { find_program(directory + "/", ""); }).find("directory"), std::string::npos);
  const std::string plain = make("x", 0644);
  EXPECT_NE(complaint([&] { find_program(plain, ""); }).find("not executable"), std::string::npos);
}

/// One that a program has is asked for in tests/programs/beside_others_test.py.
TEST_F(ProgramFile, NonProgramHasNoSanitizer) {
  const std::string whole = elf([](auto&, auto&) {});
  for (const std::string& content : {std::string(), std::string("#!/bin/sh\n"), whole, whole.substr(0, 40)})
    EXPECT_EQ(address_sanitizer_of(make(content)), "");
#ifndef __SANITIZE_ADDRESS__
  EXPECT_EQ(address_sanitizer_of("/proc/self/exe"), "");
#endif
  EXPECT_EQ(address_sanitizer_of("/no/such"), "");
}

}  // namespace
}  // namespace elision::cli
