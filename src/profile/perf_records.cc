// SPDX-License-Identifier: Apache-2.0
#include "profile/perf_records.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace elision::profile {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kMostCalls = 1 << 10, kMostBranches = 1 << 10;
/// The first value in a call chain that is no address but says whose addresses follow (PERF_CONTEXT_MAX).
constexpr std::uint64_t kLeastContext = static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
/// Numbers of registers (arch/x86/include/uapi/asm/perf_regs.h), in the order of DWARF's.
constexpr unsigned kRegisterOrder[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
static_assert(std::size(kRegisterOrder) == std::tuple_size_v<DwarfRegisters>);

/// Reads values from the start of the bytes. After the first value that is missing, all reads fail.
class Reader {
 public:
  explicit Reader(PerfBytes bytes) : rest_(bytes) {}

  bool is_good() const { return good_; }
  std::size_t left() const { return rest_.size(); }
  template <class Number>
  Number take() {
    Number value{};
    const PerfBytes bytes = take_bytes(sizeof value);
    if (good_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::uint64_t word() { return take<std::uint64_t>(); }
  std::uint32_t half() { return take<std::uint32_t>(); }
  PerfBytes take_bytes(std::uint64_t count) {
    good_ = good_ && count <= rest_.size();
    if (!good_) return {};
    const PerfBytes bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  /// Reads `count` words. Fails if the record has fewer or if `count` exceeds `most`.
  std::vector<std::uint64_t> words(std::uint64_t count, std::uint64_t most) {
    good_ = good_ && count <= most;
    const PerfBytes bytes = take_bytes(good_ ? count * kWord : 0);
    std::vector<std::uint64_t> result(good_ ? count : 0);
    if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  /// Up to its end, or to the end of the bytes.
  std::string text() {
    const auto end = std::find(rest_.begin(), rest_.end(), std::uint8_t{0});
    return {rest_.begin(), end};
  }

 private:
  PerfBytes rest_;
  bool good_ = true;
};

Reader behind_header(PerfBytes record) {
  return Reader(record.subspan(std::min(record.size(), sizeof(perf_event_header))));
}

bool is_of_type(PerfBytes record, std::uint32_t type) {
  const auto header = read_header(record);
  return header && header->type == type;
}

void skip_counts(Reader& reader, std::uint64_t format) {
  const auto has = [format](std::uint64_t bit) { return (format & bit) != 0 ? 1u : 0u; };
  const std::uint64_t times = has(PERF_FORMAT_TOTAL_TIME_ENABLED) + has(PERF_FORMAT_TOTAL_TIME_RUNNING);
  const std::uint64_t each = 1 + has(PERF_FORMAT_ID) + has(PERF_FORMAT_LOST);
  const bool is_group = has(PERF_FORMAT_GROUP) != 0;
  constexpr std::uint64_t kMostMembers = 1 << 12;
  const std::uint64_t members = is_group ? reader.word() : 1;
  (void)reader.words(times + each * std::min(members, kMostMembers + 1), times + each * kMostMembers);
}

/// The user's part of a call chain.
std::vector<std::uint64_t> user_calls(const std::vector<std::uint64_t>& chain) {
  std::vector<std::uint64_t> calls;
  bool is_user = true;
  for (const std::uint64_t entry : chain) {
    if (entry >= kLeastContext)
      is_user = entry == static_cast<std::uint64_t>(PERF_CONTEXT_USER);
    else if (is_user)
      calls.push_back(entry);
  }
  return calls;
}

std::vector<PerfBranch> branches_in(Reader& reader, std::uint64_t branch_type) {
  constexpr std::uint64_t kInTransaction = 1 << 2, kAbort = 1 << 3;  // perf_branch_entry
  constexpr unsigned kTypeShift = 20, kTypeMask = 0xf;
  constexpr std::uint64_t kHasCounters = 1ull << 19;  // PERF_SAMPLE_BRANCH_COUNTERS
  const std::uint64_t count = reader.word();
  if ((branch_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0) reader.word();
  const std::vector<std::uint64_t> words =
      reader.words(count < kMostBranches ? 3 * count : count, 3 * kMostBranches);
  if ((branch_type & kHasCounters) != 0) (void)reader.words(count, kMostBranches);
  std::vector<PerfBranch> branches;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3)
    branches.push_back({words[i], words[i + 1], (words[i + 2] & kInTransaction) != 0,
                        (words[i + 2] & kAbort) != 0,
                        static_cast<std::uint8_t>(words[i + 2] >> kTypeShift & kTypeMask)});
  return branches;
}

/// Registers that the event does not copy are 0.
std::optional<DwarfRegisters> registers_in(Reader& reader, std::uint64_t mask) {
  if (reader.word() == PERF_SAMPLE_REGS_ABI_NONE) return std::nullopt;
  const std::vector<std::uint64_t> values = reader.words(static_cast<std::uint64_t>(std::popcount(mask)), 64);
  if (!reader.is_good()) return std::nullopt;
  DwarfRegisters registers{};
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const unsigned number = kRegisterOrder[i];
    if ((mask >> number & 1) == 0) continue;
    registers[i] = values[static_cast<std::size_t>(std::popcount(mask & ((std::uint64_t{1} << number) - 1)))];
  }
  return registers;
}

PerfBytes stack_in(Reader& reader) {
  const std::uint64_t room = reader.word();
  const PerfBytes bytes = reader.take_bytes(room);
  const std::uint64_t copied = room != 0 ? reader.word() : 0;
  return bytes.first(std::min<std::uint64_t>(copied, bytes.size()));
}

/// The fields behind the header up to the call chain.
void read_front(Reader& reader, const PerfLayout& layout, PerfSample& sample) {
  const auto has = [&layout](std::uint64_t bit) { return (layout.sample_type & bit) != 0; };
  if (has(PERF_SAMPLE_IDENTIFIER)) sample.id = reader.word();
  if (has(PERF_SAMPLE_IP)) sample.ip = reader.word();
  if (has(PERF_SAMPLE_TID)) {
    sample.process = reader.half();
    sample.thread = reader.half();
  }
  if (has(PERF_SAMPLE_TIME)) sample.time = reader.word();
  if (has(PERF_SAMPLE_ADDR)) sample.address = reader.word();
  if (has(PERF_SAMPLE_ID)) sample.id = reader.word();
  if (has(PERF_SAMPLE_STREAM_ID)) reader.word();
  if (has(PERF_SAMPLE_CPU)) reader.word();
  if (has(PERF_SAMPLE_PERIOD)) sample.period = reader.word();
}

bool has_calls_and_returns(std::uint64_t branch_type) {
  constexpr std::uint64_t kBoth = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN;
  return (branch_type & PERF_SAMPLE_BRANCH_ANY) != 0 || (branch_type & kBoth) == kBoth;
}

}  // namespace

PerfLayout::PerfLayout(const perf_event_attr& attr)
    : sample_type(attr.sample_type),
      read_format(attr.read_format),
      branch_type(attr.branch_sample_type),
      registers(attr.sample_regs_user),
      sample_id_all(attr.sample_id_all != 0) {}

std::optional<PerfSample> read_sample(PerfBytes record, const PerfLayout& layout) {
  const auto header = read_header(record);
  if (!header || header->type != PERF_RECORD_SAMPLE) return std::nullopt;
  const auto has = [&layout](std::uint64_t bit) { return (layout.sample_type & bit) != 0; };
  Reader reader = behind_header(record.first(header->size));
  PerfSample sample;
  sample.is_exact = (header->misc & PERF_RECORD_MISC_EXACT_IP) != 0;
  read_front(reader, layout, sample);
  if (has(PERF_SAMPLE_READ)) skip_counts(reader, layout.read_format);
  if (has(PERF_SAMPLE_CALLCHAIN)) sample.calls = user_calls(reader.words(reader.word(), kMostCalls));
  if (has(PERF_SAMPLE_RAW)) (void)reader.take_bytes(reader.half());
  if (has(PERF_SAMPLE_BRANCH_STACK)) sample.branches = branches_in(reader, layout.branch_type);
  sample.has_calls_and_returns = has_calls_and_returns(layout.branch_type);
  if (has(PERF_SAMPLE_REGS_USER)) sample.state = registers_in(reader, layout.registers);
  if (has(PERF_SAMPLE_STACK_USER)) sample.stack = stack_in(reader);
  // With PERF_SAMPLE_WEIGHT_STRUCT the lower half is the weight.
  if (has(PERF_SAMPLE_WEIGHT)) sample.weight = reader.word();
  if (has(PERF_SAMPLE_WEIGHT_STRUCT)) sample.weight = static_cast<std::uint32_t>(reader.word());
  if (has(PERF_SAMPLE_DATA_SRC)) reader.word();
  if (has(PERF_SAMPLE_TRANSACTION)) sample.transaction = reader.word();
  if (!reader.is_good()) return std::nullopt;
  return sample;
}

std::optional<PerfMapping> read_mapping(PerfBytes record) {
  const bool second_form = is_of_type(record, PERF_RECORD_MMAP2);
  if (!second_form && !is_of_type(record, PERF_RECORD_MMAP)) return std::nullopt;
  const perf_event_header header = *read_header(record);
  Reader reader = behind_header(record.first(header.size));
  PerfMapping mapping;
  mapping.process = reader.half();
  reader.half();
  mapping.begin = reader.word();
  mapping.size = reader.word();
  mapping.offset = reader.word();
  mapping.is_code = (header.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  if (second_form) {
    constexpr std::size_t kFile = 24;  // its numbers or its build id
    (void)reader.take_bytes(kFile);
    reader.half();
    reader.half();
  }
  mapping.name = reader.text();
  if (!reader.is_good() || mapping.size > ~mapping.begin) return std::nullopt;
  return mapping;
}

std::optional<PerfName> read_name(PerfBytes record) {
  if (!is_of_type(record, PERF_RECORD_COMM)) return std::nullopt;
  const perf_event_header header = *read_header(record);
  Reader reader = behind_header(record.first(header.size));
  PerfName name;
  name.process = reader.half();
  name.thread = reader.half();
  name.by_exec = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  name.name = reader.text();
  return reader.is_good() ? std::optional(name) : std::nullopt;
}

std::optional<PerfFork> read_fork(PerfBytes record) {
  if (!is_of_type(record, PERF_RECORD_FORK)) return std::nullopt;
  Reader reader = behind_header(record.first(read_header(record)->size));
  PerfFork fork;
  fork.process = reader.half();
  fork.parent = reader.half();
  return reader.is_good() ? std::optional(fork) : std::nullopt;
}

std::optional<std::uint64_t> read_losses(PerfBytes record) {
  const auto header = read_header(record);
  if (!header || (header->type != PERF_RECORD_LOST && header->type != PERF_RECORD_LOST_SAMPLES))
    return std::nullopt;
  Reader reader = behind_header(record.first(header->size));
  if (header->type == PERF_RECORD_LOST) reader.word();  // the event
  const std::uint64_t lost = reader.word();
  return reader.is_good() ? std::optional(lost) : std::nullopt;
}

std::optional<perf_event_header> read_header(PerfBytes bytes) {
  perf_event_header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.size < sizeof header || header.size > bytes.size()) return std::nullopt;
  return header;
}

std::uint64_t time_of_record(PerfBytes record, const PerfLayout& layout) {
  const auto header = read_header(record);
  if (!header || (layout.sample_type & PERF_SAMPLE_TIME) == 0) return 0;
  if (header->type == PERF_RECORD_SAMPLE) {
    Reader reader = behind_header(record.first(header->size));
    PerfSample sample;
    read_front(reader, layout, sample);
    return sample.time;
  }
  constexpr std::uint32_t kLastOfKernel = 63;  // perf's own records have no ids
  if (!layout.sample_id_all || header->type > kLastOfKernel) return 0;
  std::size_t behind = kWord;  // the time itself
  for (const std::uint64_t bit :
       {PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER})
    if ((layout.sample_type & bit) != 0) behind += kWord;
  if (behind + sizeof *header > header->size) return 0;
  Reader reader(record.subspan(header->size - behind));
  return reader.word();
}

}  // namespace elision::profile
