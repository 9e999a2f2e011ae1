// SPDX-License-Identifier: Apache-2.0
#include "profile/export_pprof.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <stdexcept>
#include <utility>

#include "base/printable.h"

namespace elision::profile {
namespace {

// The numbers of the fields in proto/profile.proto.
enum class ProfileField : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum class ValueTypeField : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
enum class SampleField : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };
enum class LabelField : protozero::pbf_tag_type { kKey = 1, kStr = 2 };
enum class MappingField : protozero::pbf_tag_type {
  kId = 1,
  kFilename = 5,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum class LocationField : protozero::pbf_tag_type { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4 };
enum class LineField : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2 };
// Without a system name, which would be the mangled one, pprof shows the name as it is.
enum class FunctionField : protozero::pbf_tag_type { kId = 1, kName = 2, kFilename = 4 };

constexpr std::uint64_t kMapping = 1;  // the only one

struct ValueType {
  const char* type;
  const char* unit;
};

/// Functions that were inlined into each other and the one that they are in, the innermost first.
using Inlined = std::vector<const Place*>;

/// The string table; equal strings are one. The first is empty, as the format demands.
class Strings {
 public:
  std::int64_t index_of(const std::string& text) {
    const auto [known, is_new] =
        indices_.try_emplace(valid_utf8(text), static_cast<std::int64_t>(table_.size()));
    if (is_new) table_.push_back(&known->first);
    return known->second;
  }
  const std::vector<const std::string*>& table() const { return table_; }

 private:
  std::map<std::string, std::int64_t> indices_{{"", 0}};
  std::vector<const std::string*> table_{&indices_.begin()->first};
};

/// Whether `frame` is inlined code at the address of `inlined`, and no recursion.
bool belongs_to(const Inlined& inlined, const Place& frame) {
  return frame.address != 0 && frame.address == inlined.front()->address &&
         std::none_of(inlined.begin(), inlined.end(), [&](const Place* other) {
           return other->name == frame.name && other->file == frame.file;
         });
}

/// The innermost first.
std::vector<Inlined> by_address(const std::vector<const Place*>& stack) {
  std::vector<Inlined> groups;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    if (groups.empty() || !belongs_to(groups.back(), **frame)) groups.emplace_back();
    groups.back().push_back(*frame);
  }
  return groups;
}

class Message {
 public:
  std::string of(const PathTable& table, const Origin& origin) {
    const ValueType weight = {style_of(table.weight).type, style_of(table.weight).unit};
    add_value_type(ProfileField::kSampleType, {"samples", "count"});
    add_value_type(ProfileField::kSampleType, weight);
    builder_.add_int64(ProfileField::kDefaultSampleType, strings_.index_of(weight.type));
    add_mapping(origin);
    for (const WeightedPath& path : table.paths) add_sample(table, path);
    builder_.add_int64(ProfileField::kDurationNanos, whole(table.wall_ns));
    if (const double period = weight_of_sample(table); period > 0) {
      add_value_type(ProfileField::kPeriodType, weight);
      builder_.add_int64(ProfileField::kPeriod, whole(period));
    }
    add_comments(table, origin);
    for (const std::string* text : strings_.table()) builder_.add_string(ProfileField::kStringTable, *text);
    return std::move(data_);
  }

 private:
  void add_value_type(ProfileField field, const ValueType& value) {
    protozero::pbf_builder<ValueTypeField> message(builder_, field);
    message.add_int64(ValueTypeField::kType, strings_.index_of(value.type));
    message.add_int64(ValueTypeField::kUnit, strings_.index_of(value.unit));
  }

  // All code counts as the program's: a profile does not know which files were mapped. The marks say that
  // there is nothing left to find out, since a reader would look these addresses up in the program's file.
  void add_mapping(const Origin& origin) {
    const std::int64_t file = strings_.index_of(origin.file);
    protozero::pbf_builder<MappingField> message(builder_, ProfileField::kMapping);
    message.add_uint64(MappingField::kId, kMapping);
    message.add_int64(MappingField::kFilename, file);
    for (const MappingField mark : {MappingField::kHasFunctions, MappingField::kHasFilenames,
                                    MappingField::kHasLineNumbers, MappingField::kHasInlineFrames})
      message.add_bool(mark, true);
  }

  std::uint64_t function_of(const Place& frame) {
    const std::int64_t name = strings_.index_of(label_of(frame)), file = strings_.index_of(frame.file);
    const auto [known, is_new] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (is_new) {
      protozero::pbf_builder<FunctionField> message(builder_, ProfileField::kFunction);
      message.add_uint64(FunctionField::kId, known->second);
      message.add_int64(FunctionField::kName, name);
      message.add_int64(FunctionField::kFilename, file);
    }
    return known->second;
  }

  std::uint64_t location_of(const Inlined& inlined) {
    const auto [known, is_new] = locations_.try_emplace(inlined, locations_.size() + 1);
    if (!is_new) return known->second;
    std::vector<std::uint64_t> functions;
    for (const Place* frame : inlined) functions.push_back(function_of(*frame));
    protozero::pbf_builder<LocationField> message(builder_, ProfileField::kLocation);
    message.add_uint64(LocationField::kId, known->second);
    message.add_uint64(LocationField::kMappingId, kMapping);
    message.add_uint64(LocationField::kAddress, inlined.front()->address);
    for (std::size_t i = 0; i < inlined.size(); ++i) {
      protozero::pbf_builder<LineField> line(message, LocationField::kLine);
      line.add_uint64(LineField::kFunctionId, functions[i]);
      line.add_int64(LineField::kLine, inlined[i]->line);
    }
    return known->second;
  }

  void add_sample(const PathTable& table, const WeightedPath& path) {
    std::vector<std::uint64_t> locations;
    for (const Inlined& inlined : by_address(stack_of(table, path)))
      locations.push_back(location_of(inlined));
    const std::array<std::int64_t, 2> values = {whole(path.samples), whole(path.weight)};
    protozero::pbf_builder<SampleField> message(builder_, ProfileField::kSample);
    message.add_packed_uint64(SampleField::kLocationId, locations.begin(), locations.end());
    message.add_packed_int64(SampleField::kValue, values.begin(), values.end());
    const bool has_threads = style_of(table.weight).has_threads;
    add_label(message, has_threads ? "state" : "cause", table.kinds[path.kind].name);
    add_label(message, "lock", lock_label(table, path));
    if (has_threads) add_label(message, "thread", label_of(table.threads[path.thread]));
  }

  void add_label(protozero::pbf_builder<SampleField>& sample, const char* key, const std::string& value) {
    if (value.empty()) return;
    protozero::pbf_builder<LabelField> label(sample, SampleField::kLabel);
    label.add_int64(LabelField::kKey, strings_.index_of(key));
    label.add_int64(LabelField::kStr, strings_.index_of(value));
  }

  void add_comments(const PathTable& table, const Origin& origin) {
    std::vector<std::int64_t> comments;
    for (const std::string& text : remarks_of(table, origin)) comments.push_back(strings_.index_of(text));
    builder_.add_packed_int64(ProfileField::kComment, comments.begin(), comments.end());
  }

  std::string data_;
  protozero::pbf_builder<ProfileField> builder_{data_};
  Strings strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;  // by name and file
  std::map<Inlined, std::uint64_t> locations_;
};

// Without name and time in its header.
std::string gzipped(std::string text) {
  constexpr int kGzip = 16, kMemory = 8;
  if (text.size() > std::numeric_limits<uInt>::max()) throw std::length_error("the profile is too large");
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip + MAX_WBITS, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib cannot start");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("zlib cannot pack the profile");
  return packed;
}

}  // namespace

std::string pprof_file(const PathTable& table, const Origin& origin) {
  return gzipped(Message().of(table, origin));
}

}  // namespace elision::profile
