// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as code: decoded one by one, as a block, and translated. One copy is at the end of a page
// of ordinary memory, another before an unmapped page, so that reads beyond the bytes are caught.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <source_location>
#include <vector>

#include "fuzz.h"
#include "machine/description.h"
#include "vm/code/code_cache.h"
#include "vm/decode/guest_code.h"
#include "vm/decode/instruction.h"
#include "vm/decode/instruction_form.h"
#include "vm/host/failure.h"
#include "vm/translate/translator.h"

namespace elision::vm {

// Stubs for the engine, which is not linked.
void fail_check(const char* what, std::uint64_t, std::source_location) { fuzz::fail(what); }

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMost = 512;

/// `data` at the end of a page before an unmapped one.
const std::uint8_t* at_page_end(const std::uint8_t* data, std::size_t size) {
  static std::uint8_t* const page = [] {
    void* const at = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fuzz::fail("no memory");
    munmap(static_cast<std::uint8_t*>(at) + kPage, kPage);
    return static_cast<std::uint8_t*>(at);
  }();
  std::memcpy(page + kPage - size, data, size);
  return page + kPage - size;
}

void check_instruction(const Instruction& i, std::size_t available) {
  const std::size_t most = std::min(available, sizeof i.bytes);
  if (i.length > most || i.looked_at > most) fuzz::fail("an instruction longer than its bytes");
  if (i.length == 0 && !i.ends_block()) fuzz::fail("an instruction without length goes on");
  if (i.kind == InstructionClass::kIncomplete && available >= sizeof i.bytes)
    fuzz::fail("fifteen bytes are not enough");
  if (i.accesses > 2) fuzz::fail("more than two accesses");
  for (unsigned k = 0; k < i.accesses; ++k)
    if (i.access[k].operand.base >= static_cast<int>(kGprCount)) fuzz::fail("no such register");
}

/// Tests the bytes in every way, from each of the first positions.
void decode_all(const std::uint8_t* data, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) {
    const std::span<const std::uint8_t> bytes(data + at, std::min<std::size_t>(size - at, 15));
    const Instruction i = decode(reinterpret_cast<std::uint64_t>(data + at), bytes);
    check_instruction(i, bytes.size());
    if (i.length > 0) (void)instruction_form(bytes.first(i.length));
  }
}

void translate_all(const std::uint8_t* data, std::size_t size, bool writable, Detail detail) {
  static CodeCache cache;
  static const machine::Description machine{};
  const auto begin = reinterpret_cast<std::uint64_t>(data);
  GuestCode code([&](std::uint64_t pc) { return pc >= begin && pc < begin + size ? begin + size : 0; },
                 [&](std::uint64_t) { return writable; });
  for (std::uint64_t pc = begin; pc < begin + size;) {
    if (cache.nearly_full()) cache.flush();
    const auto* const before = cache.cursor();
    const Block* const block = translate_block(cache, code, machine, {detail}, pc);
    if (block == nullptr) {
      if (!code.missing_byte(pc)) fuzz::fail("a whole instruction is not translated");
      ++pc;
      continue;
    }
    if (block->end_pc <= pc || block->end_pc > begin + size) fuzz::fail("the block does not lie in its code");
    if (cache.cursor() - before > 64 * 1024) fuzz::fail("a block is larger than the cache reserves");
    pc = block->end_pc;
  }
  if (cache.find(begin, detail) != nullptr) cache.invalidate(begin & ~(kPage - 1));
}

}  // namespace
}  // namespace elision::vm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  size = std::min(size, elision::vm::kMost);
  if (size == 0) return 0;
  const std::uint8_t* const code = elision::vm::at_page_end(data, size);
  elision::vm::decode_all(code, size);
  using elision::vm::Detail;
  for (const Detail detail : {Detail::kTimed, Detail::kCounted, Detail::kLogged})
    elision::vm::translate_all(code, size, data[0] % 2 == 0, detail);
  return 0;
}
