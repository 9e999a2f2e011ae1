// SPDX-License-Identifier: Apache-2.0
// The format is that of src/lib/file-format-spec.ts in github.com/jlfwong/speedscope.
#include "profile/export_speedscope.h"

#include <map>
#include <utility>

namespace elision::profile {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "https://www.speedscope.app/file-format-schema.json";

/// The frames of all profiles. Speedscope takes each for a function of its own, so they have no lines.
class Frames {
 public:
  std::size_t index_of(const Place& place) {
    const auto [known, is_new] = known_.try_emplace({label_of(place), place.file}, known_.size());
    if (!is_new) return known->second;
    list_.push_back({{"name", known->first.first}});
    if (!place.file.empty()) list_.back()["file"] = place.file;
    return known->second;
  }
  ordered_json json() const { return list_; }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> known_;  // by name and file
  ordered_json list_ = ordered_json::array();
};

std::vector<std::size_t> sample_of(const PathTable& table, const WeightedPath& path, Frames& frames) {
  std::vector<std::size_t> sample;
  for (const Place* frame : stack_of(table, path)) sample.push_back(frames.index_of(*frame));
  if (const std::string label = kind_label(table, path); !label.empty())
    sample.push_back(frames.index_of(Place{.name = label}));
  return sample;
}

class Sampled {
 public:
  explicit Sampled(std::string name, Weight weight)
      : name_(std::move(name)), unit_(weight == Weight::kTime ? "nanoseconds" : "none") {}
  void add(const std::vector<std::size_t>& sample, std::int64_t weight) {
    samples_.push_back(sample);
    weights_.push_back(weight);
    sum_ += weight;
  }
  bool is_empty() const { return samples_.empty(); }
  ordered_json json() const {
    return {{"type", "sampled"}, {"name", name_},       {"unit", unit_},      {"startValue", 0},
            {"endValue", sum_},  {"samples", samples_}, {"weights", weights_}};
  }

 private:
  std::string name_;
  const char* unit_;
  ordered_json samples_ = ordered_json::array(), weights_ = ordered_json::array();
  std::int64_t sum_ = 0;
};

}  // namespace

ordered_json speedscope_json(const PathTable& table, const Origin& origin) {
  Frames frames;
  const char* const all = table.weight == Weight::kTime ? "all states" : "all causes";
  std::vector<Sampled> profiles = {Sampled(all, table.weight)};
  for (const PathKind& kind : table.kinds) profiles.emplace_back(kind.name, table.weight);
  for (const WeightedPath& path : table.paths) {
    const std::vector<std::size_t> sample = sample_of(table, path, frames);
    profiles.front().add(sample, whole(path.weight));
    profiles[1 + path.kind].add(sample, whole(path.weight));
  }
  ordered_json file = {{"$schema", kSchema}, {"version", "0.0.1"}, {"exporter", origin.writer}};
  file["name"] = origin.command + ", " + origin.conditions;
  file["activeProfileIndex"] = 0;
  file["shared"] = {{"frames", frames.json()}};
  file["profiles"] = ordered_json::array();
  for (const Sampled& sampled : profiles)
    if (!sampled.is_empty()) file["profiles"].push_back(sampled.json());
  return file;
}

}  // namespace elision::profile
