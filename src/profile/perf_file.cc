// SPDX-License-Identifier: Apache-2.0
#include "profile/perf_file.h"

#include <algorithm>
#include <cstring>

namespace elision::profile {
namespace {

constexpr std::string_view kMagic = "PERFILE2", kOtherByteOrder = "2ELIFREP", kOldMagic = "PERFFILE";
constexpr std::uint64_t kPipeHeaderBytes = 16;
constexpr std::size_t kMostEvents = 1 << 10, kMostWords = 1 << 12;
constexpr std::size_t kWord = sizeof(std::uint64_t);
// Features, by the numbers of their bits.
constexpr unsigned kCommandLine = 11, kEventNames = 12, kFeatures = 256;
// Records of perf itself.
constexpr std::uint32_t kFirstOfPerf = 64, kTraceData = 66, kAuxiliary = 71, kCompressed = 81,
                        kCompressed2 = 83;

struct Section {
  std::uint64_t offset = 0, size = 0;
};
struct FileHeader {
  char magic[8];
  std::uint64_t size;
  std::uint64_t attr_size;
  Section attrs, data, event_types;
  std::uint64_t features[kFeatures / 64];
};
static_assert(sizeof(FileHeader) == 104);

/// Reads the value at `at`. Returns false if the bytes end before it.
template <class Value>
bool copy(std::string_view bytes, std::uint64_t at, Value& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

/// As much of the section as is there.
std::string_view part(std::string_view bytes, const Section& section) {
  return section.offset < bytes.size() ? bytes.substr(section.offset, section.size) : std::string_view();
}

/// Attributes of a kernel with more or fewer of them.
bool copy_attributes(std::string_view bytes, std::uint64_t at, std::uint64_t size, perf_event_attr& attr) {
  if (size < PERF_ATTR_SIZE_VER0 || at > bytes.size() || bytes.size() - at < size) return false;
  attr = {};
  std::memcpy(&attr, bytes.data() + at, std::min<std::size_t>(size, sizeof attr));
  return true;
}

/// A text with its length in front. Steps behind it.
bool take_text(std::string_view bytes, std::uint64_t& at, std::string& text) {
  std::uint32_t length = 0;
  if (!copy(bytes, at, length) || bytes.size() - at - sizeof length < length) return false;
  text = bytes.substr(at + sizeof length, length);
  text = text.substr(0, text.find('\0'));
  at += sizeof length + length;
  return true;
}

std::vector<std::string> command_in(std::string_view bytes) {
  std::uint32_t count = 0;
  std::uint64_t at = sizeof count;
  std::vector<std::string> words;
  if (!copy(bytes, 0, count)) return words;
  for (std::string word;
       words.size() < std::min<std::size_t>(count, kMostWords) && take_text(bytes, at, word);)
    words.push_back(word);
  return words;
}

/// Events' names, in the order of the events.
std::vector<std::string> names_in(std::string_view bytes) {
  std::uint32_t count = 0, attr_size = 0;
  std::vector<std::string> names;
  if (!copy(bytes, 0, count) || !copy(bytes, sizeof count, attr_size)) return names;
  std::uint64_t at = 2 * sizeof count;
  for (std::string name; names.size() < std::min<std::size_t>(count, kMostEvents);) {
    std::uint32_t ids = 0;
    if (!copy(bytes, at + attr_size, ids)) break;
    at += std::uint64_t{attr_size} + sizeof ids;
    if (!take_text(bytes, at, name)) break;
    names.push_back(name);
    at += std::uint64_t{ids} * kWord;
    if (at > bytes.size()) break;
  }
  return names;
}

}  // namespace

bool PerfFile::read_events(std::string_view bytes, std::uint64_t at, std::uint64_t size,
                           std::uint64_t entry_bytes) {
  if (entry_bytes < PERF_ATTR_SIZE_VER0 + sizeof(Section) || size / entry_bytes > kMostEvents) return false;
  std::uint64_t ids_left = bytes.size() / kWord;  // lists may overlap in a damaged file
  for (std::uint64_t i = 0; i < size / entry_bytes; ++i) {
    const std::uint64_t begin = at + i * entry_bytes, attr_bytes = entry_bytes - sizeof(Section);
    perf_event_attr attr;
    Section ids;
    if (begin < at || !copy_attributes(bytes, begin, attr_bytes, attr) ||
        !copy(bytes, begin + attr_bytes, ids))
      return false;
    PerfFileEvent& event = events_.emplace_back();
    event.layout = PerfLayout(attr);
    event.type = attr.type;
    event.config = attr.config;
    event.is_frequency = attr.freq != 0;
    event.frequency_or_period = attr.sample_freq;
    const std::string_view list = part(bytes, ids);
    for (std::uint64_t id = 0, at_id = 0; ids_left > 0 && copy(list, at_id, id); at_id += kWord, --ids_left)
      event_of_id_.try_emplace(id, events_.size() - 1);
  }
  return !events_.empty();
}

void PerfFile::read_features(std::string_view bytes, std::uint64_t at, const std::uint64_t (&bits)[4]) {
  for (unsigned bit = 0; bit < kFeatures; ++bit) {
    if ((bits[bit / 64] >> bit % 64 & 1) == 0) continue;
    Section section;
    if (!copy(bytes, at, section)) return;
    at += sizeof section;
    if (bit == kCommandLine) command_ = command_in(part(bytes, section));
    if (bit != kEventNames) continue;
    const std::vector<std::string> names = names_in(part(bytes, section));
    if (names.size() == events_.size())
      for (std::size_t i = 0; i < names.size(); ++i) events_[i].name = names[i];
  }
}

/// By the id in the record, if there are several events. Returns nothing for an id of no event.
std::optional<std::size_t> PerfFile::event_of(PerfBytes record) const {
  if (events_.size() == 1) return 0;
  const perf_event_header header = *read_header(record);
  const PerfLayout& layout = events_.front().layout;
  std::uint64_t id = 0;
  if ((layout.sample_type & PERF_SAMPLE_IDENTIFIER) != 0) {
    const bool is_first = header.type == PERF_RECORD_SAMPLE;
    if (header.size < sizeof header + sizeof id) return std::nullopt;
    std::memcpy(&id, record.data() + (is_first ? sizeof header : header.size - sizeof id), sizeof id);
  } else if (const auto sample = read_sample(record, layout)) {
    id = sample->id;
  }
  const auto event = event_of_id_.find(id);
  return event != event_of_id_.end() ? std::optional(event->second) : std::nullopt;
}

void PerfFile::read_records(PerfBytes data) {
  while (!data.empty()) {
    const auto header = read_header(data);
    if (!header) {
      damage_ = "it ends in the middle of a record, or is damaged there";
      break;
    }
    std::uint64_t size = header->size;
    if (header->type == kCompressed || header->type == kCompressed2) is_compressed_ = true;
    if (header->type >= kFirstOfPerf) {
      // What a CPU traced follows its record, and so do descriptions of tracepoints.
      std::uint64_t more = 0;
      std::uint32_t short_more = 0;
      const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
      if (header->type == kAuxiliary && copy(text, sizeof *header, more)) size += more;
      if (header->type == kTraceData && copy(text, sizeof *header, short_more))
        size += (short_more + 7u) & ~7u;
    } else {
      const PerfBytes record = data.first(header->size);
      // Perf does not know what a sample of an unknown event means either. Other records mean the same for
      // all.
      const std::optional<std::size_t> event = event_of(record);
      if (event || header->type != PERF_RECORD_SAMPLE)
        records_.push_back(
            {record, event.value_or(0), time_of_record(record, events_[event.value_or(0)].layout)});
      else
        ++unknown_samples_;
    }
    if (size < header->size || size > data.size()) {
      damage_ = "it ends in the middle of a record";
      break;
    }
    data = data.subspan(size);
  }
  std::stable_sort(records_.begin(), records_.end(),
                   [](const Record& a, const Record& b) { return a.time < b.time; });
}

Result<PerfFile> PerfFile::parse(std::string_view bytes) {
  const auto refuse = [](const char* why) { return Error{why}; };
  FileHeader header;
  if (bytes.starts_with(kOtherByteOrder))
    return refuse("was recorded by a machine with the other byte order");
  if (bytes.starts_with(kOldMagic)) return refuse("has the format of perf before Linux 3.9");
  if (!bytes.starts_with(kMagic)) return refuse("is no file of perf record");
  std::uint64_t header_bytes = 0;
  if (copy(bytes, kMagic.size(), header_bytes) && header_bytes == kPipeHeaderBytes)
    return refuse("is a stream of perf record to a pipe; 'perf inject -i FILE -o OTHER' makes a file of it");
  if (!copy(bytes, 0, header)) return refuse("is cut short in its header");
  if (header.size != sizeof header) return refuse("has a header of another version of perf");
  PerfFile file;
  if (!file.read_events(bytes, header.attrs.offset, header.attrs.size, header.attr_size))
    return refuse("is damaged: its events cannot be read");
  // A perf that was killed leaves the size as 0.
  const bool is_finished = header.data.size != 0;
  const std::uint64_t end = header.data.offset + header.data.size;
  if (is_finished && end > header.data.offset) file.read_features(bytes, end, header.features);
  const std::string_view data =
      part(bytes, {header.data.offset, is_finished ? header.data.size : bytes.size()});
  if (!is_finished) file.damage_ = "perf record did not finish it";
  file.read_records({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
  if (is_finished && data.size() < header.data.size && file.damage_.empty()) file.damage_ = "it is cut short";
  if (file.is_compressed_) return refuse("is compressed (perf record -z), which is not read");
  return file;
}

}  // namespace elision::profile
