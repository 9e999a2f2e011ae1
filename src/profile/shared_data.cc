// SPDX-License-Identifier: Apache-2.0
#include "profile/shared_data.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace elision::profile {
namespace {

constexpr unsigned kLineShift = 6;

}  // namespace

SharedDataKey key_of(const SharedData& row) {
  return {is_many(row.data), row.data.name,      key_of(row.earlier),
          key_of(row.later), row.earlier_stores, row.later_stores};
}

void keep_most_samples(std::vector<SharedData>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SharedData& a, const SharedData& b) { return a.samples > b.samples; });
  std::vector<SharedData> kept;
  SharedData rest;
  for (SharedData& row : rows) {
    if (kept.size() < SharedDataAccount::kMostWritten && !is_many(row.data)) {
      kept.push_back(std::move(row));
    } else {
      rest.samples += row.samples;
      rest.apart += row.apart;
    }
  }
  if (rest.samples > 0) kept.push_back(rest);
  rows = std::move(kept);
}

void SharedDataAccount::Recent::add(const Access& access) {
  if (last_[0].thread != access.thread) last_[1] = last_[0];
  last_[0] = access;
}

auto SharedDataAccount::Recent::other(const Access& access) const -> const Access* {
  const Access& last = last_[0].thread != access.thread ? last_[0] : last_[1];
  const bool is_near = last.time + kMostApartNs >= access.time;
  return last.thread != 0 && is_near ? &last : nullptr;
}

void SharedDataAccount::Recents::add(const Access& access) {
  any.add(access);
  if (access.stores) stores.add(access);
}

auto SharedDataAccount::line_at(const LineKey& key, std::uint64_t time) -> Line& {
  if (lines_.size() >= kMostLines && !lines_.contains(key)) {
    std::erase_if(lines_, [time](const auto& line) { return line.second.time + kMostApartNs < time; });
    if (lines_.size() >= kMostLines) lines_.clear();
  }
  return lines_[key];
}

void SharedDataAccount::add(const PerfSample& sample, bool stores, ProcessImages& images, std::size_t image) {
  (stores ? stores_ : loads_) += 1;
  if (sample.address == 0) {
    ++unknown_;
    return;
  }
  const Access access{sample.thread, stores, sample.time, sample.ip};
  const std::uint64_t number = sample.address >> kLineShift;
  Line& line = line_at({sample.process, image, number}, sample.time);
  Recents& begin = line.begins[static_cast<std::uint8_t>(sample.address & ((1u << kLineShift) - 1))];
  const Access* const same = begin.met_by(access);
  const Access* const met = same != nullptr ? same : line.whole.met_by(access);
  // That threads contend for the lock itself is what the other times tell.
  const auto is_for_lock = [&](std::uint64_t pc) { return images[image].names().is_in_lock_library(pc); };
  if (met != nullptr && !(is_for_lock(met->pc) && is_for_lock(access.pc))) {
    Key key{image, number, met->pc, access.pc, met->stores, access.stores};
    if (rows_.size() >= kMostRows && !rows_.contains(key)) key = {};
    Sums& row = rows_[key];
    if (row.samples == 0) row.address = key.line != 0 ? sample.address : 0;
    row.one_address &= row.address == sample.address;
    ++row.samples;
    row.apart += same == nullptr ? 1 : 0;
  }
  line.time = sample.time;
  line.whole.add(access);
  begin.add(access);
}

AccessEvents SharedDataAccount::events(ProcessImages& images) const {
  AccessEvents events;
  events.loads = loads_;
  events.stores = stores_;
  events.unknown = unknown_;
  // Lines on the heap have no names: those that the same instructions share are one row.
  struct Row {
    SharedData data;
    std::set<std::pair<std::size_t, std::uint64_t>> lines;
  };
  std::map<SharedDataKey, Row> sums;
  std::map<std::pair<std::size_t, std::uint64_t>, Place> codes;  // few instructions make many rows
  const auto code = [&](std::size_t image, std::uint64_t pc) -> const Place& {
    const auto [place, is_new] = codes.try_emplace({image, pc});
    if (is_new) place->second = images[image].names_by_servers().code(pc);
    return place->second;
  };
  for (const auto& [key, row] : rows_) {
    SharedData one;
    if (key.line != 0) {
      const Names& names = images[key.image].names_by_servers();
      one = {row.one_address ? names.part_of_data(row.address) : names.data(row.address),
             code(key.image, key.earlier), code(key.image, key.later)};
      one.data.address = row.address;
    }
    one.earlier_stores = key.earlier_stores;
    one.later_stores = key.later_stores;
    events.shared += row.samples;
    events.apart += row.apart;
    Row& sum = sums[key_of(one)];
    if (sum.lines.empty()) sum.data = one;
    sum.lines.insert({key.image, key.line});
    sum.data.samples += row.samples;
    sum.data.apart += row.apart;
  }
  for (auto& [key, row] : sums) {
    row.data.lines = row.lines.size();
    events.rows.push_back(std::move(row.data));
  }
  keep_most_samples(events.rows);
  return events;
}

}  // namespace elision::profile
