// SPDX-License-Identifier: Apache-2.0
// Dedup: a pipeline that stores each part of a stream once. Written from the description of PARSEC's
// program in the TxSampler paper (section 8.1).
//
//   read     one thread takes pieces of the input
//   cut      divides a piece into chunks whose ends depend on their bytes
//   look up  computes a chunk's fingerprint and searches for it in a hash table; a new one is inserted
//   pack     compresses a new chunk
//   write    one thread writes chunks in the order of the input: the bytes of a new chunk, a number for a
//            chunk that it has written before
//
// Sections: one searches a chain of the hash table, and allocates and inserts an entry if it finds none;
// one reads and changes an entry of the table before the last stage writes a chunk; others put elements
// into the queues between stages, or take them out. The table has one lock, each queue its own.
//
//   original       the hash uses 2.2 % of the slots, so that chains are long; the system calls that write a
//                  chunk are inside the section
//   hash           with a hash that uses all slots
//   calls-outside  as original, with the system calls after the section
//   optimised      both
//
// At the end the program unpacks the output, which must equal the input, and the table must have each
// fingerprint once: else "WRONG ..." and exit code 1.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "case_studies/case_study.h"
#include "case_studies/chained_table.h"
#include "case_studies/dedup/fingerprint.h"
#include "case_studies/dedup/packing.h"
#include "case_studies/dedup/queue.h"
#include "case_studies/dedup/stream.h"
#include "command_line.h"
#include "support.h"
#include "team.h"

namespace {

using workloads::SlotHash;
using workloads::TeamBarrier;
using workloads::dedup::Bytes;
using workloads::dedup::Fingerprint;
using workloads::dedup::Queue;
using workloads::dedup::Record;
using workloads::dedup::write_record;

constexpr std::size_t kQueueSize = 64;
constexpr unsigned kStages = 3;  // stages with several threads

struct Options {
  workloads::CaseOptions common;
  std::uint32_t kilobytes = 512;
  std::uint32_t piece_kilobytes = 16;
  std::uint32_t chunk_bytes = 256;
  std::uint32_t slots = 4096;
};

struct Chunk;

/// The value of a fingerprint in the table. The lock of the table guards `written` and `number`.
struct Entry {
  Chunk* first;  // the first chunk with this fingerprint: its bytes are written
  bool written = false;
  std::uint32_t number = 0;  // its place among the written entries
};

struct Chunk {
  std::span<const std::uint8_t> bytes;
  std::size_t piece;
  Fingerprint fingerprint{};
  Entry* entry = nullptr;
  Bytes packed{};
  bool arrived = false;  // at the writer
};

struct Piece {
  std::span<const std::uint8_t> bytes;
  std::vector<Chunk> chunks{};
  bool arrived = false;
};

class Pipeline {
 public:
  explicit Pipeline(const Options& options);

  /// Does the work of the thread with this number.
  void work(unsigned thread) {
    switch (thread) {
      case 0:
        return read();
      case 1:
        return write();
      default:
        return stage((thread - 2) / options_.common.threads);
    }
  }

  std::size_t chunks() const;
  double used_percent() const { return table_.used_percent(); }
  /// Returns the first error, or an empty text if all is right.
  std::string complaint() const;

 private:
  void stage(unsigned number) {
    if (number == 0) return cut();
    number == 1 ? look_up() : pack();
  }
  void read();
  void cut();
  void look_up();
  void pack();
  void write();
  void write_arrived();
  bool take_number(Entry& entry);
  void write_chunk(Entry& entry);

  const Options options_;
  const bool calls_outside_;
  const workloads::dedup::Cutter cutter_;
  Bytes input_;
  std::vector<Piece> pieces_;
  Queue<Piece> to_cut_;
  Queue<Chunk> to_look_up_, to_pack_, to_write_;
  alignas(128) std::mutex table_lock_;
  alignas(128) workloads::ChainedTable<Fingerprint, Entry> table_;
  // Only the writer uses these.
  alignas(128) workloads::NamelessFile output_;
  std::size_t next_piece_ = 0, next_chunk_ = 0;
  std::uint32_t written_ = 0;
};

bool has_right_hash(const std::string& variant) { return variant == "hash" || variant == "optimised"; }

Pipeline::Pipeline(const Options& options)
    : options_(options),
      calls_outside_(options.common.variant == "calls-outside" || options.common.variant == "optimised"),
      cutter_(options.chunk_bytes),
      input_(workloads::dedup::draw_input(std::size_t{options.kilobytes} * 1024, options.common.seed)),
      to_cut_(kQueueSize, 1),
      to_look_up_(kQueueSize, options.common.threads),
      to_pack_(kQueueSize, options.common.threads),
      to_write_(kQueueSize, 2 * options.common.threads),
      table_(options.slots, has_right_hash(options.common.variant) ? SlotHash::kAll : SlotHash::kFew) {
  const std::span<const std::uint8_t> whole = input_;
  const std::size_t size = std::size_t{options.piece_kilobytes} * 1024;
  for (std::size_t begin = 0; begin < whole.size(); begin += size)
    pieces_.push_back({whole.subspan(begin, std::min(size, whole.size() - begin))});
}

void Pipeline::read() {
  for (Piece& piece : pieces_) to_cut_.put(&piece);
  to_cut_.close();
}

void Pipeline::cut() {
  while (Piece* const piece = to_cut_.take()) {
    const auto number = static_cast<std::size_t>(piece - pieces_.data());
    for (std::span<const std::uint8_t> rest = piece->bytes; !rest.empty();) {
      const std::size_t length = cutter_.first_chunk(rest);
      piece->chunks.push_back({rest.first(length), number});
      rest = rest.subspan(length);
    }
    for (Chunk& chunk : piece->chunks) to_look_up_.put(&chunk);
  }
  to_look_up_.close();
}

void Pipeline::look_up() {
  while (Chunk* const chunk = to_look_up_.take()) {
    chunk->fingerprint = workloads::dedup::Sha1::of(chunk->bytes);
    bool is_new = false;
    {
      const std::lock_guard lock(table_lock_);
      Entry* entry = table_.find(chunk->fingerprint);
      is_new = entry == nullptr;
      if (is_new) entry = &table_.insert(chunk->fingerprint, {chunk});
      chunk->entry = entry;
    }
    (is_new ? to_pack_ : to_write_).put(chunk);
  }
  to_pack_.close();
  to_write_.close();
}

void Pipeline::pack() {
  while (Chunk* const chunk = to_pack_.take()) {
    chunk->packed = workloads::dedup::pack(chunk->bytes);
    to_write_.put(chunk);
  }
  to_write_.close();
}

void Pipeline::write() {
  while (Chunk* const chunk = to_write_.take()) {
    chunk->arrived = true;
    pieces_[chunk->piece].arrived = true;
    write_arrived();
  }
}

/// Writes chunks in order, up to the first chunk that has not arrived or whose bytes have not arrived.
void Pipeline::write_arrived() {
  while (next_piece_ < pieces_.size() && pieces_[next_piece_].arrived) {
    std::vector<Chunk>& chunks = pieces_[next_piece_].chunks;
    const Chunk& chunk = chunks[next_chunk_];
    if (!chunk.arrived || !chunk.entry->first->arrived) return;
    write_chunk(*chunk.entry);
    if (++next_chunk_ < chunks.size()) continue;
    ++next_piece_;
    next_chunk_ = 0;
  }
}

/// Call it in a section. Returns true if the caller must write the entry's bytes.
bool Pipeline::take_number(Entry& entry) {
  if (entry.written) return false;
  entry.written = true;
  entry.number = written_++;
  return true;
}

void Pipeline::write_chunk(Entry& entry) {
  const Bytes& packed = entry.first->packed;
  std::unique_lock lock(table_lock_);
  const bool is_new = take_number(entry);
  const std::uint32_t number = entry.number;
  if (calls_outside_) lock.unlock();
  if (is_new)
    write_record(output_, Record::kNew, static_cast<std::uint32_t>(packed.size()), packed);
  else
    write_record(output_, Record::kAgain, number, {});
}

std::size_t Pipeline::chunks() const {
  std::size_t number = 0;
  for (const Piece& piece : pieces_) number += piece.chunks.size();
  return number;
}

std::string Pipeline::complaint() const {
  Bytes restored;
  Bytes output(output_.size());
  output_.read(output.data(), output.size(), 0);
  if (!workloads::dedup::restore(output, restored)) return "WRONG records in the output";
  if (restored != input_) return "WRONG bytes in the output";
  std::unordered_set<std::uint64_t> codes;
  for (const Piece& piece : pieces_)
    for (const Chunk& chunk : piece.chunks) codes.insert(chunk.fingerprint.code());
  std::size_t entries = 0;
  table_.for_each([&](std::size_t, const Fingerprint&, const Entry&) { ++entries; });
  if (entries == codes.size() && written_ == codes.size()) return {};
  return "WRONG table: " + std::to_string(entries) + " entries, " + std::to_string(written_) +
         " written, for " + std::to_string(codes.size()) + " fingerprints";
}

void add_options(workloads::CommandLine& line, Options& options) {
  workloads::add_case_options(line, options.common, {"original", "hash", "calls-outside", "optimised"},
                              "of each of the three stages with several, beside two more");
  line.add("--kilobytes", options.kilobytes, "of the input").within(32, 1 << 20);
  line.add("--piece-kilobytes", options.piece_kilobytes, "of the pieces that are cut").within(1, 1 << 14);
  line.add("--chunk-bytes", options.chunk_bytes, "of a chunk on average, a power of two").within(16, 1 << 14);
  line.add("--slots", options.slots, "of the hash table").within(1, 1 << 24);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("dedup", "PARSEC's pipeline that stores each part of a stream once");
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (!std::has_single_bit(options.chunk_bytes))
    return line.refuse("--chunk-bytes: " + std::to_string(options.chunk_bytes) + " is no power of two");
  const auto pipeline = std::make_unique<Pipeline>(options);
  const std::uint64_t run_ns = workloads::run_team(
      kStages * options.common.threads + 2, !options.common.no_pin, [](unsigned) { return std::monostate{}; },
      [&](unsigned thread, std::monostate, TeamBarrier&) { pipeline->work(thread); });
  workloads::print_throughput("chunks", pipeline->chunks(), run_ns);
  std::printf("slots used: %.1f %%\n", pipeline->used_percent());
  return workloads::exit_code(pipeline->complaint());
}
