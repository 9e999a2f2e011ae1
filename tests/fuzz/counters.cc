// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a counter file (abi/counters.h), in memory and as a file that a comparison reads, and as
// the name of the empty file for missing counters. A counter file comes from a process that may have crashed
// or written anything.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "abi/counters_reader.h"
#include "cli/experiment/lock_counters.h"
#include "fuzz.h"

namespace {

namespace abi = elision::abi;
namespace experiment = elision::cli::experiment;

/// One for each input, since a driver may run each in its own process.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "elision-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fuzz::fail("no folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& path, const std::uint8_t* data, std::size_t size) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) fuzz::fail("no file");
  close(file);
}

void check_totals(const abi::CounterTotals& totals, std::size_t size) {
  if (totals.threads * abi::kCounterSlotBytes > size) fuzz::fail("more threads than slots");
  for (const std::string* text : {&totals.asked_design, &totals.design, &totals.program})
    if (text->size() > 64 || text->find('\0') != std::string::npos) fuzz::fail("a text that is too long");
}

void check_note(const std::filesystem::path& folder, const std::uint8_t* data, std::size_t size) {
  std::string name = abi::kNoCountersMark;
  for (std::size_t i = 0; i < size && i < 20; ++i)
    if (data[i] != 0 && data[i] != '/') name += static_cast<char>(data[i]);
  write_file(folder / name, nullptr, 0);
  const std::string reason = experiment::why_not_counted(folder);
  std::filesystem::remove(folder / name);
  if (reason.empty() || reason.find('\n') != std::string::npos) fuzz::fail("not one line: " + reason);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Folder folder;
  // Exactly as large, so that a read beyond the end is noticed.
  const auto exact = std::make_unique<std::uint64_t[]>((size + 7) / 8);
  if (size != 0) std::memcpy(exact.get(), data, size);
  const auto in_memory = abi::sum_counters(exact.get(), size);
  if (in_memory) check_totals(*in_memory, size);

  write_file(folder.path() / "0000.counters", data, size);
  const auto read = experiment::read_counters(folder.path());
  if (read.size() != (in_memory ? 1 : 0)) fuzz::fail("the file and its bytes are not read alike");
  if (in_memory && read[0].sections() != in_memory->sections()) fuzz::fail("other sums from the file");
  const auto counts = experiment::lock_counts(read, 1e9);
  if (counts.longest_wait_seconds < 0) fuzz::fail("a wait below zero");
  (void)experiment::native_ticks_per_second(read);
  std::filesystem::remove(folder.path() / "0000.counters");
  check_note(folder.path(), data, size);
  return 0;
}
