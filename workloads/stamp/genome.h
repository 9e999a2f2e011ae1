// SPDX-License-Identifier: Apache-2.0
// Genome (STAMP): puts a gene together from segments of it that overlap. Written from STAMP's description
// (Cao Minh et al., IISWC 2008).
//
// Segments come from random places of the gene, and from more where those leave a gap, so that each overlaps
// the next. Phase 1 removes duplicates with a hash set. Phase 2 goes from long overlaps to short ones: it
// looks up the end of each segment that has no successor in a table of the beginnings of segments, of the
// same length, and links it to one that has no predecessor. Phase 3, by one thread, writes the chains down.
//
// Sections: --chunk insertions into the set, each reading a bucket's list and writing a node, a link and a
// length (12, as the original; 2 is what IBM's port has); taking a slot for a segment; one insertion into a
// table of beginnings; and one link, which reads both segments, the ends of their chains and all characters
// of the overlap, and writes six places.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "sections/run.h"
#include "stamp/hash_table.h"
#include "support.h"

namespace workloads::genome {

inline constexpr const char* kDescription = "STAMP's genome: a gene put together from segments that overlap";

struct Options {
  sections::TeamOptions team;
  unsigned gene = 256, segment = 16, segments = 16384, chunk = 12;
};

inline void add_options(CommandLine& line, Options& options) {
  line.add("-g,--gene", options.gene, "length of the gene, in nucleotides").within(2, 1 << 24);
  line.add("-s,--segment", options.segment, "length of a segment").within(2, 1024);
  line.add("-n,--segments", options.segments, "at random places; more fill gaps").within(1, 1 << 28);
  line.add("--chunk", options.chunk, "segments a section of phase 1 inserts").within(1, 1 << 20);
}

inline std::string complaint(const Options& options) {
  if (options.segment > options.gene) return "--segment: more than --gene";
  return {};
}

/// The gene and its segments, each a copy with a zero behind it.
class Input {
 public:
  explicit Input(const Options& options) : gene(options.gene, '\0'), length(options.segment) {
    CheapRandom random(options.team.seed);
    for (char& nucleotide : gene) nucleotide = "acgt"[random.below(4)];
    const std::size_t places = options.gene - options.segment + 1;
    taken_.resize(places);
    characters_.reserve((options.segments + places) * (length + 1));
    for (unsigned i = 0; i < options.segments; ++i) take(random.below(static_cast<std::uint32_t>(places)));
    fill_gaps();
  }

  std::size_t segments() const { return characters_.size() / (length + 1); }
  const char* segment(std::size_t index) const { return &characters_[index * (length + 1)]; }
  /// Where segments were taken, in order.
  std::vector<std::size_t> places() const {
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < taken_.size(); ++place) {
      if (taken_[place]) places.push_back(place);
    }
    return places;
  }

  std::string gene;
  const std::size_t length;  // of a segment

 private:
  void take(std::size_t place) {
    taken_[place] = true;
    characters_.insert(characters_.end(), &gene[place], &gene[place] + length);
    characters_.push_back('\0');
  }

  /// Segments at both ends of the gene, and so that each shares a nucleotide or more with the next.
  void fill_gaps() {
    if (!taken_.front()) take(0);
    std::size_t last = 0;
    for (std::size_t place = 1; place < taken_.size(); ++place) {
      if (!taken_[place] && (place == last + length - 1 || place + 1 == taken_.size())) take(place);
      if (taken_[place]) last = place;
    }
  }

  std::vector<char> characters_;
  std::vector<bool> taken_;
};

/// A hash of characters, one after the other.
class Hash {
 public:
  void add(char character) { value_ = value_ * 65599 + static_cast<unsigned char>(character); }
  std::size_t value() const { return value_; }
  static Hash of(const char* string) {
    Hash hash;
    for (; *string != '\0'; ++string) hash.add(*string);
    return hash;
  }

 private:
  std::size_t value_ = 0;
};

struct CompareStrings {
  int operator()(const char* one, const char* other) const {
    for (; *one == *other && *one != '\0'; ++one, ++other) {
    }
    return *one - *other;
  }
};

/// A segment in phase 2. It is the first of a chain until it has a predecessor.
struct Link {
  const char* segment = nullptr;  // null: the slot is free
  std::size_t end_hash = 0;       // of as many characters of its end as overlap now
  Link* first = nullptr;          // of its chain, if it is the last
  Link* last = nullptr;           // of its chain, if it is the first
  Link* next = nullptr;
  std::size_t overlap = 0;  // with the next one
  std::size_t length = 0;   // of its chain, if it is the first
  bool is_first = true;
};

struct CompareLinks {
  int operator()(const Link* one, const Link* other) const { return one < other ? -1 : one > other ? 1 : 0; }
};

using Segments = stamp::HashTable<const char, CompareStrings>;
using Beginnings = stamp::HashTable<Link, CompareLinks>;

class Assembly {
 public:
  Assembly(const Input& input, const Options& options)
      : input_(input),
        chunk_(options.chunk),
        threads_(options.team.threads),
        segments_(options.gene),
        links_(input.places().size()) {
    for (std::size_t overlap = 1; overlap < input.length; ++overlap)
      beginnings_.push_back(std::make_unique<Beginnings>(options.gene));
  }

  /// What each thread does.
  template <class Thread>
  void work(Thread& thread, unsigned index, TeamBarrier& barrier) {
    insert_segments(thread, index);
    barrier.wait();
    if (index == 0) unique_ = count_unique();
    barrier.wait();
    add_links(thread, index);
    for (std::size_t overlap = input_.length - 1; overlap != 0; --overlap) {
      barrier.wait();
      if (index == 0) collect_ends(overlap);
      barrier.wait();
      link_ends(thread, index, overlap);
    }
    barrier.wait();
    if (index == 0) write_down();
  }

  std::size_t unique() const { return unique_; }
  const std::string& sequence() const { return sequence_; }

 private:
  template <class Thread>
  void insert_segments(Thread& thread, unsigned index) {
    const auto [begin, end] = share_of(input_.segments(), index, threads_);
    for (std::size_t first = begin; first < end; first += chunk_) {
      const std::size_t stop = std::min(first + chunk_, end);
      thread.atomically([&](auto& transaction) {
        for (std::size_t i = first; i < stop; ++i) {
          const char* const segment = input_.segment(i);
          segments_.insert(transaction, Hash::of(segment).value(), segment);
        }
      });
    }
  }

  std::size_t count_unique() const {
    sections::Plain plain;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < segments_.buckets(); ++i) sum += segments_.bucket(i).length(plain);
    return std::min(sum, links_.size());
  }

  /// Makes links of the segments in a thread's share of the buckets. The set no longer changes.
  template <class Thread>
  void add_links(Thread& thread, unsigned index) {
    sections::Plain plain;
    const auto [begin, end] = share_of(segments_.buckets(), index, threads_);
    std::size_t slot = share_of(unique_, index, threads_).begin;
    for (std::size_t i = begin; i < end; ++i) {
      const Segments::Bucket& bucket = segments_.bucket(i);
      for (auto* node = bucket.first(plain); node != nullptr; node = bucket.next(plain, node)) {
        Link& link = take_slot(thread, slot, node->data);
        link.first = link.last = &link;
        link.length = input_.length;
        insert_beginnings(thread, link);
      }
    }
  }

  /// Takes the first free slot from `slot` on. The next search begins behind it.
  template <class Thread>
  Link& take_slot(Thread& thread, std::size_t& slot, const char* segment) {
    for (;;) {
      Link& link = links_[slot];
      slot = slot + 1 < unique_ ? slot + 1 : 0;
      bool taken = false;
      thread.atomically([&](auto& transaction) {
        taken = transaction.read(link.segment) == nullptr;
        if (taken) transaction.write(link.segment, segment);
      });
      if (taken) return link;
    }
  }

  template <class Thread>
  void insert_beginnings(Thread& thread, Link& link) {
    Hash hash;
    for (std::size_t overlap = 1; overlap < input_.length; ++overlap) {
      hash.add(link.segment[overlap - 1]);
      Beginnings& table = *beginnings_[overlap - 1];
      thread.atomically([&](auto& transaction) { table.insert(transaction, hash.value(), &link); });
    }
  }

  /// Lists segments that have no successor, and computes hashes of their ends.
  void collect_ends(std::size_t overlap) {
    ends_.clear();
    for (std::size_t slot = 0; slot < unique_; ++slot) {
      Link& link = links_[slot];
      if (link.segment == nullptr || link.next != nullptr) continue;
      link.end_hash = Hash::of(link.segment + input_.length - overlap).value();
      ends_.push_back(&link);
    }
  }

  template <class Thread>
  void link_ends(Thread& thread, unsigned index, std::size_t overlap) {
    sections::Plain plain;
    const auto [begin, end] = share_of(ends_.size(), index, threads_);
    for (std::size_t i = begin; i < end; ++i) {
      Link* const last = ends_[i];
      const Beginnings::Bucket& bucket = beginnings_[overlap - 1]->bucket_of(last->end_hash);
      bool linked = false;
      for (auto* node = bucket.first(plain); node != nullptr && !linked; node = bucket.next(plain, node)) {
        Link* const first = node->data;
        thread.atomically([&](auto& transaction) { linked = link(transaction, last, first, overlap); });
      }
    }
  }

  /// Puts the chain that begins with `first` behind the one that ends with `last`. False if they don't
  /// overlap, it does not begin there, or it is the same chain.
  template <class Transaction>
  bool link(Transaction& transaction, Link* last, Link* first, std::size_t overlap) {
    if (!transaction.read(first->is_first)) return false;
    Link* const chain = transaction.read(last->first);
    if (chain == first) return false;
    const char* const end = last->segment + input_.length - overlap;
    for (std::size_t i = 0; i < overlap; ++i) {
      if (end[i] != first->segment[i]) return false;
    }
    Link* const chain_end = transaction.read(first->last);
    const std::size_t added = transaction.read(first->length) - overlap;
    transaction.write(first->is_first, false);
    transaction.write(last->next, first);
    transaction.write(last->overlap, overlap);
    transaction.write(chain_end->first, chain);
    transaction.write(chain->last, chain_end);
    transaction.write(chain->length, transaction.read(chain->length) + added);
    return true;
  }

  /// All chains, one behind the other. A chain is no longer than its length, even if it is wrong.
  void write_down() {
    for (std::size_t slot = 0; slot < unique_; ++slot) {
      if (links_[slot].segment == nullptr || !links_[slot].is_first) continue;
      const std::size_t end = sequence_.size() + links_[slot].length;
      std::size_t overlap = 0;
      for (const Link* link = &links_[slot]; link != nullptr && sequence_.size() < end; link = link->next) {
        sequence_.append(link->segment + overlap);
        overlap = link->overlap;
      }
    }
  }

  const Input& input_;
  const std::size_t chunk_;
  const unsigned threads_;
  Segments segments_;
  std::vector<std::unique_ptr<Beginnings>> beginnings_;  // by overlap, from 1 on
  std::vector<Link> links_;                              // slots; `unique_` are used
  std::vector<Link*> ends_;
  std::size_t unique_ = 0;
  std::string sequence_;
};

/// What is known about the result. A segment's end may also fit a segment that is not the next one. The
/// sequence is the gene if no such pair comes before the right one of either segment: then each length of
/// overlap only finds segments that follow each other, whatever the order of the sections.
class Expectation {
 public:
  explicit Expectation(const Input& input)
      : gene_(input.gene), length_(input.length), places_(input.places()) {
    for (const std::size_t place : places_) segments_.emplace(segment(place), place);
    is_determined_ = segments_.size() == places_.size();
    for (std::size_t i = 0; i + 1 < places_.size(); ++i) {
      const std::size_t overlap = length_ - (places_[i + 1] - places_[i]);
      after_[places_[i]] = before_[places_[i + 1]] = overlap;
      least_ = std::min(least_, overlap);
    }
    // The last one can be linked to the first until all others are linked.
    after_[places_.back()] = before_[places_.front()] = least_;
    for (std::size_t overlap = length_ - 1; is_determined_ && overlap >= least_; --overlap)
      is_determined_ = !misleads(overlap);
  }

  std::size_t unique() const { return segments_.size(); }
  bool is_determined() const { return is_determined_; }

  /// Each segment is part of the sequence.
  bool has_all(std::string_view sequence) const {
    std::map<std::string_view, std::size_t> missing = segments_;
    for (std::size_t place = 0; place + length_ <= sequence.size(); ++place)
      missing.erase(sequence.substr(place, length_));
    return missing.empty();
  }

 private:
  std::string_view segment(std::size_t place) const { return gene_.substr(place, length_); }

  /// Whether a segment with this overlap finds another than its next one, while neither is linked.
  bool misleads(std::size_t overlap) {
    for (const std::size_t place : places_) {
      if (after_[place] > overlap) continue;
      const std::string_view end = segment(place).substr(length_ - overlap);
      for (auto found = segments_.lower_bound(end); found != segments_.end(); ++found) {
        const std::size_t other = found->second;
        if (found->first.substr(0, overlap) != end) break;
        const bool is_next = other > place && other - place == length_ - overlap;
        if (other != place && !is_next && before_[other] <= overlap) return true;
      }
    }
    return false;
  }

  const std::string_view gene_;
  const std::size_t length_;
  const std::vector<std::size_t> places_;
  std::map<std::string_view, std::size_t> segments_;   // with their places
  std::map<std::size_t, std::size_t> after_, before_;  // overlaps of a place with the next and the last
  std::size_t least_ = length_;
  bool is_determined_ = false;
};

/// Says what is wrong with the result, or returns null.
inline const char* complaint(const Assembly& assembly, const Input& input, const Expectation& expectation) {
  if (assembly.unique() != expectation.unique()) return "number of different segments";
  if (!expectation.has_all(assembly.sequence())) return "sequence: not of all segments";
  if (expectation.is_determined() && assembly.sequence() != input.gene) return "sequence";
  return nullptr;
}

template <class Sections>
int run(const Options& options) {
  const Input input(options);
  const auto shared = std::make_unique<Sections>();
  Assembly assembly(input, options);
  sections::run_sections(*shared, options.team, [&](auto& thread, unsigned index, TeamBarrier& barrier) {
    assembly.work(thread, index, barrier);
  });
  const Expectation expectation(input);
  if (sections::is_wrong(complaint(assembly, input, expectation))) return 1;
  std::printf("segments: %zu, %zu different\nsequence: %zu nucleotides, %s\n", input.segments(),
              assembly.unique(), assembly.sequence().size(),
              assembly.sequence() == input.gene ? "the gene" : "not the gene, as overlaps are ambiguous");
  return 0;
}

}  // namespace workloads::genome
