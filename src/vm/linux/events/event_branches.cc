// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/events/event_branches.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace elision::vm {
namespace {

constexpr std::uint32_t kAllKinds = kDirectJump | kConditionalJump | kIndirectJump | kDirectCall |
                                    kIndirectCall | kReturn | kAbortOfTransaction;
constexpr std::pair<std::uint64_t, std::uint32_t> kChoices[] = {
    {PERF_SAMPLE_BRANCH_ANY, kAllKinds},          {PERF_SAMPLE_BRANCH_ANY_CALL, kDirectCall | kIndirectCall},
    {PERF_SAMPLE_BRANCH_ANY_RETURN, kReturn},     {PERF_SAMPLE_BRANCH_IND_CALL, kIndirectCall},
    {PERF_SAMPLE_BRANCH_CALL, kDirectCall},       {PERF_SAMPLE_BRANCH_COND, kConditionalJump},
    {PERF_SAMPLE_BRANCH_IND_JUMP, kIndirectJump}, {PERF_SAMPLE_BRANCH_ABORT_TX, kAbortOfTransaction},
};

/// PERF_BR_ of a kind. Linux has none for aborts.
unsigned type_of(std::uint64_t kind) {
  switch (kind) {
    case kDirectJump:
      return PERF_BR_UNCOND;
    case kConditionalJump:
      return PERF_BR_COND;
    case kIndirectJump:
      return PERF_BR_IND;
    case kDirectCall:
      return PERF_BR_CALL;
    case kIndirectCall:
      return PERF_BR_IND_CALL;
    case kReturn:
      return PERF_BR_RET;
    default:
      return PERF_BR_UNKNOWN;
  }
}

bool is_shown(const BranchRecord& record, std::uint64_t choice) {
  constexpr std::uint64_t kByTransaction = PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX;
  if ((choice & kByTransaction) == 0 || record.kind == kAbortOfTransaction) return true;
  return (choice & (record.in_transaction != 0 ? PERF_SAMPLE_BRANCH_IN_TX : PERF_SAMPLE_BRANCH_NO_TX)) != 0;
}

/// What the CPU does not record stays 0: whether the branch was predicted, and cycles.
std::uint64_t flags_of(const BranchRecord& record, std::uint64_t choice) {
  perf_branch_entry entry{};
  if ((choice & PERF_SAMPLE_BRANCH_NO_FLAGS) == 0) {
    entry.in_tx = record.in_transaction != 0;
    entry.abort = record.kind == kAbortOfTransaction;
  }
  if ((choice & PERF_SAMPLE_BRANCH_TYPE_SAVE) != 0) entry.type = type_of(record.kind) & 0xf;
  if ((choice & PERF_SAMPLE_BRANCH_PRIV_SAVE) != 0) entry.priv = PERF_BR_PRIV_USER;
  struct Words {
    std::uint64_t from, to, flags;
  };
  static_assert(sizeof(Words) == sizeof entry);
  return std::bit_cast<Words>(entry).flags;
}

}  // namespace

int refusal_of_branches(const perf_event_attr& attr) {
  if (!has_branch_stack(attr)) return 0;
  const std::uint64_t choice = attr.branch_sample_type;
  if ((choice & ~std::uint64_t{PERF_SAMPLE_BRANCH_MAX - 1}) != 0) return -EINVAL;
  if ((choice & ~std::uint64_t{PERF_SAMPLE_BRANCH_PLM_ALL}) == 0) return -EINVAL;
  // The stack of calls that the CPU keeps is a mode of its own.
  if ((choice & (PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_HV)) != 0) return -EOPNOTSUPP;
  return 0;
}

std::uint32_t branch_kinds(const perf_event_attr& attr) {
  if (!has_branch_stack(attr)) return 0;
  std::uint32_t kinds = 0;
  for (const auto& [choice, chosen] : kChoices)
    if ((attr.branch_sample_type & choice) != 0) kinds |= chosen;
  return kinds;
}

/// Haswell and Broadwell keep 16, Skylake and later parts 32 (SDM volume 3B, table 18-10).
unsigned branch_depth(const MachineIdentity& machine) {
  constexpr unsigned kShortModels[] = {0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56};
  constexpr unsigned kShort = 16;
  const bool is_short =
      std::find(std::begin(kShortModels), std::end(kShortModels), machine.model) != std::end(kShortModels);
  return is_short ? kShort : static_cast<unsigned>(BranchRing::kEntries);
}

std::vector<std::uint64_t> branch_stack(const perf_event_attr& attr, const std::vector<BranchRecord>& records,
                                        unsigned depth) {
  const std::uint64_t choice = attr.branch_sample_type;
  const std::uint32_t kinds = branch_kinds(attr);
  std::vector<std::uint64_t> words{0};
  // The place of the newest record in the CPU's registers, which is not known.
  if ((choice & PERF_SAMPLE_BRANCH_HW_INDEX) != 0) words.push_back(~std::uint64_t{0});
  for (std::size_t i = 0; i < records.size() && i < depth; ++i) {
    const BranchRecord& record = records[i];
    if ((record.kind & kinds) == 0 || !is_shown(record, choice)) continue;
    words.insert(words.end(), {record.from, record.to, flags_of(record, choice)});
    ++words[0];
  }
  return words;
}

}  // namespace elision::vm
