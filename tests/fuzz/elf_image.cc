// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as an ELF file, which is parsed and, if accepted, mapped. Nothing is executed.
#include "vm/linux/load/elf_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "vm/interface/fake_engine.h"

namespace {

using namespace elision::vm;

OpenFile as_file(const std::uint8_t* data, std::size_t size) {
  OpenFile file(memfd_create("input", 0));
  if (file.get() < 0 || write(file.get(), data, size) != static_cast<ssize_t>(size)) fuzz::fail("no file");
  return file;
}

void check_message(const Failure& failure) {
  if (failure.error <= 0) fuzz::fail("a failure without an error number");
  if (failure.message.rfind("input: ", 0) != 0 || failure.message.find('\n') != std::string::npos)
    fuzz::fail("not one line that names the file: " + failure.message);
}

void check_image(const ElfImage& image) {
  if (image.low >= image.high || image.high > kAddressLimit + kPageBytes) fuzz::fail("a bad span");
  for (const Elf64_Phdr& segment : image.headers)
    if (segment.p_type == PT_LOAD && segment.p_memsz != 0 &&
        (segment.p_vaddr < image.low || segment.p_vaddr + segment.p_memsz > image.high))
      fuzz::fail("a segment outside the span");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto image = parse_elf("input", as_file(data, size));
  if (!image) {
    check_message(image.failure());
    return 0;
  }
  check_image(image.value());
  constexpr std::uint64_t kMostMapped = 1ull << 40;  // this does not test the host's limits
  if (image->high - image->low > kMostMapped) return 0;
  FakeEngine engine;
  AddressSpace memory(engine);
  auto mapped = map_elf(memory, image.value(), 0);
  if (!mapped) check_message(mapped.failure());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> regions;
  for (const auto& [begin, region] : memory.regions().regions())
    if (region.properties.use != RegionUse::kForeign) regions.emplace_back(begin, region.end);
  for (const auto& [begin, end] : regions) memory.unmap(begin, end - begin);
  return 0;
}
