// SPDX-License-Identifier: Apache-2.0
// hmmsearch (RMS-TM, from BioBench's HMMER 2): scores each sequence of a file against a profile of a family
// of proteins. Written from the descriptions of the suite (Kestor et al., ICPE 2011) and of profile models
// (Durbin, Eddy, Krogh, Mitchison: "Biological Sequence Analysis", 1998, chapter 5).
//
// A thread repeats: read the next sequence; score it by the Viterbi algorithm; note the score. Sections:
//
//   read     reads the next sequence by fgets, from a buffer of the C library, so that every few sequences
//            one section makes a system call; its memory comes from malloc and grows by realloc
//   note     counts the score in a histogram, which grows by realloc; a high score also becomes a hit, with
//            memory for the hit and its name
//
// Fine-grained locks: one for the file and one for the result, as in the original.
//
// Scores are integers, thousandths of a bit. The score of the family's most likely member must equal the
// score of its path, and hits and histogram must equal those of one thread without locks: else "WRONG ..."
// and exit code 1.
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "command_line.h"
#include "nameless_file.h"
#include "rms/hmm_profile.h"
#include "rms/workers.h"
#include "support.h"

namespace workloads::rms {
namespace {

constexpr std::size_t kLineResidues = 60;

struct Options {
  TeamOptions team;
  unsigned sequences = 64, length = 100, states = 40, members = 8;
};

void* need(void* memory) {
  if (memory == nullptr) std::abort();
  return memory;
}

// ---- The file of sequences.

void append_lines(std::string& text, const std::string& residues) {
  for (std::size_t at = 0; at < residues.size(); at += kLineResidues)
    text += residues.substr(at, kLineResidues) + '\n';
}

/// Random sequences. Some have a member of the family inside: most of its best residues.
std::string draw_sequences(const Options& options, const Profile& profile, CheapRandom& random) {
  std::string text;
  for (unsigned number = 0; number < options.sequences; ++number) {
    text += ">sequence" + std::to_string(number) + " generated\n";
    std::string residues;
    const std::size_t length = options.length / 2 + random.below(options.length + 1);
    for (std::size_t i = 0; i <= length; ++i) residues += kResidues[random.below(kResidueCount)];
    if (random.below(options.sequences) < options.members) {
      for (std::size_t state = 0; state < profile.states(); ++state)
        if (random.below(8) != 0) residues += kResidues[profile.best_residue(state)];
    }
    append_lines(text, residues);
  }
  return text;
}

/// A sequence of the file. It owns its memory, which comes from malloc.
struct Sequence {
  char* name = nullptr;
  char* residues = nullptr;
  std::size_t length = 0;
};

void release(Sequence& sequence) {
  std::free(sequence.name);
  std::free(sequence.residues);
}

/// Reads sequences one by one. It always holds the first line of the next sequence.
class Reader {
 public:
  explicit Reader(const NamelessFile& file) : file_(::fdopen(::dup(file.descriptor()), "r")) {
    if (file_ == nullptr) std::abort();
    ::__fsetlocking(file_, FSETLOCKING_BYCALLER);  // sections guard it, not a lock of the C library
    ::rewind(file_);
    has_line_ = read_line();
  }
  ~Reader() { std::fclose(file_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Returns false if the file has no more sequences.
  bool next(Sequence& sequence) {
    if (!has_line_) return false;
    const std::size_t name_length = std::strcspn(line_ + 1, " \n");
    sequence.name = static_cast<char*>(need(std::malloc(name_length + 1)));
    std::memcpy(sequence.name, line_ + 1, name_length);
    sequence.name[name_length] = '\0';
    std::size_t capacity = 0;
    while ((has_line_ = read_line()) && line_[0] != '>') append(sequence, capacity);
    return true;
  }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

 private:
  static constexpr std::size_t kStep = 128;  // bytes by which a sequence grows

  bool read_line() { return std::fgets(line_, sizeof line_, file_) != nullptr; }

  void append(Sequence& sequence, std::size_t& capacity) {
    const std::size_t more = std::strcspn(line_, "\n");
    if (sequence.length + more > capacity) {
      capacity += std::max(kStep, more);
      sequence.residues = static_cast<char*>(need(std::realloc(sequence.residues, capacity)));
    }
    std::memcpy(sequence.residues + sequence.length, line_, more);
    sequence.length += more;
  }

  std::FILE* const file_;
  char line_[512] = {};
  bool has_line_ = false;
};

// ---- The result.

class Result {
 public:
  using Hit = std::pair<int, std::string>;  // score and name

  Result() = default;
  ~Result() {
    for (std::size_t i = 0; i < hit_count_; ++i) std::free(hits_[i]->name), std::free(hits_[i]);
    std::free(hits_);
    std::free(bins_);
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  void note(const Sequence& sequence, int score, int threshold) {
    count_in_bin(score / 1000 - (score % 1000 < 0 ? 1 : 0));
    if (score >= threshold) add_hit(sequence.name, score);
  }

  /// Returns the hits, the best one first.
  std::vector<Hit> ranked() const {
    std::vector<Hit> ranked;
    for (std::size_t i = 0; i < hit_count_; ++i) ranked.emplace_back(hits_[i]->score, hits_[i]->name);
    std::sort(ranked.begin(), ranked.end(), [](const Hit& a, const Hit& b) {
      return std::tie(b.first, a.second) < std::tie(a.first, b.second);
    });
    return ranked;
  }

  /// Returns the bins that are not empty: a whole number of bits, and the number of scores.
  std::vector<std::pair<int, int>> histogram() const {
    std::vector<std::pair<int, int>> full;
    for (int bin = 0; bin < bin_count_; ++bin)
      if (bins_[bin] != 0) full.emplace_back(lowest_ + bin, bins_[bin]);
    return full;
  }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

 private:
  struct StoredHit {
    int score;
    char* name;
  };
  static constexpr int kStepBins = 16;
  static constexpr std::size_t kStepHits = 16;

  void count_in_bin(int bits) {
    if (bin_count_ == 0) lowest_ = bits;
    if (const int missing = lowest_ - bits; missing > 0) {
      grow_bins(missing + kStepBins);
      std::memmove(bins_ + missing + kStepBins, bins_,
                   static_cast<std::size_t>(bin_count_ - missing - kStepBins) * sizeof *bins_);
      std::fill_n(bins_, missing + kStepBins, 0);
      lowest_ -= missing + kStepBins;
    }
    if (bits - lowest_ >= bin_count_) grow_bins(bits - lowest_ - bin_count_ + kStepBins);
    ++bins_[bits - lowest_];
  }

  /// Adds empty bins at the end.
  void grow_bins(int more) {
    const std::size_t bytes = static_cast<std::size_t>(bin_count_ + more) * sizeof *bins_;
    bins_ = static_cast<int*>(need(std::realloc(bins_, bytes)));
    std::fill_n(bins_ + bin_count_, more, 0);
    bin_count_ += more;
  }

  void add_hit(const char* name, int score) {
    if (hit_count_ % kStepHits == 0)
      hits_ = static_cast<StoredHit**>(need(std::realloc(hits_, (hit_count_ + kStepHits) * sizeof(void*))));
    StoredHit* const hit = static_cast<StoredHit*>(need(std::malloc(sizeof(StoredHit))));
    *hit = {score, static_cast<char*>(need(::strdup(name)))};
    hits_[hit_count_++] = hit;
  }

  int* bins_ = nullptr;
  int bin_count_ = 0, lowest_ = 0;
  StoredHit** hits_ = nullptr;
  std::size_t hit_count_ = 0;
};

// ---- The search.

class Search {
 public:
  Search(const Profile& profile, const NamelessFile& file, int threshold)
      : profile_(profile), threshold_(threshold), reader_(file) {
    for (std::size_t i = 0; i < kResidueCount; ++i)
      codes_[static_cast<unsigned char>(kResidues[i])] = static_cast<unsigned char>(i);
  }

  /// The work of each thread.
  void work(Worker& worker) {
    std::vector<unsigned char> digits;
    for (;;) {
      Sequence sequence;
      bool more = false;
      worker.sections.run(reader_.mutex, [&] {
        more = reader_.next(sequence);
        if (more) ++read_;
      });
      if (!more) return;
      digits.resize(sequence.length);
      for (std::size_t i = 0; i < sequence.length; ++i)
        digits[i] = codes_[static_cast<unsigned char>(sequence.residues[i])];
      const int score = profile_.score(digits.data(), digits.size());
      worker.sections.run(result_.mutex, [&] { result_.note(sequence, score, threshold_); });
      release(sequence);
    }
  }

  const Result& result() const { return result_; }
  std::uint64_t read() const { return read_; }

 private:
  const Profile& profile_;
  const int threshold_;
  std::array<unsigned char, 256> codes_{};
  alignas(128) Reader reader_;
  std::uint64_t read_ = 0;
  alignas(128) Result result_;
};

std::string complaint(const Options& options, const Search& search, const Search& alone) {
  if (search.read() != options.sequences || alone.read() != options.sequences) return "number of sequences";
  if (search.result().histogram() != alone.result().histogram()) return "histogram";
  if (search.result().ranked() != alone.result().ranked()) return "hits";
  return "";
}

bool scores_are_right(const Profile& profile) {
  std::vector<unsigned char> best;
  for (std::size_t state = 0; state < profile.states(); ++state)
    best.push_back(static_cast<unsigned char>(profile.best_residue(state)));
  return profile.score(best.data(), best.size()) == profile.best_score();
}

int run(const Options& options) {
  CheapRandom random(options.team.seed);
  const Profile profile(options.states, random);
  if (!scores_are_right(profile)) return exit_code_if_wrong("score of the most likely member");
  const NamelessFile file;
  const std::string sequences = draw_sequences(options, profile, random);
  file.write(sequences.data(), sequences.size());
  file.rewind();
  const int threshold = profile.best_score() / 4;
  const auto alone = std::make_unique<Search>(profile, file, threshold);
  run_alone([&](Worker& worker) { alone->work(worker); });
  const auto search = std::make_unique<Search>(profile, file, threshold);
  run_together(options.team, "sequences", options.sequences, [&](Worker& worker) { search->work(worker); });
  std::printf("hits: %zu\n", search->result().ranked().size());
  return exit_code_if_wrong(complaint(options, *search, *alone));
}

}  // namespace
}  // namespace workloads::rms

int main(int argc, char** argv) {
  using namespace workloads;
  rms::Options options;
  CommandLine line("hmmsearch", "RMS-TM's hmmsearch: sequences scored against a profile");
  rms::add_team_options(line, options.team);
  line.add("--sequences", options.sequences, "of the file").within(1, 1 << 24);
  line.add("--length", options.length, "residues of a sequence, on average").within(1, 1 << 16);
  line.add("--states", options.states, "match states of the profile").within(2, 1 << 12);
  line.add("--members", options.members, "about how many sequences have a member of the family")
      .within(0, 1 << 24);
  if (const auto code = line.parse(argc, argv)) return *code;
  return rms::run(options);
}
