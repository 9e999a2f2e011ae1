// SPDX-License-Identifier: Apache-2.0
// histogram (TSX paper, sections 5.1 and 5.4, Listing 3, Fig. 5a): threads count the pixels of an image in
// the bins of one shared histogram. Written from the paper's description.
//
//   none         no synchronisation: counts are lost
//   baseline     an atomic addition for each pixel
//   tsx-init     a transaction for each pixel
//   tsx-coarsen  --granularity pixels in a transaction; each row of the image begins a new one
//   tsx-adapt    the same by an elision::coarsener that adapts
//   privatised   a histogram for each thread; at the end each thread adds up a share of the bins (5.4.2)
//
// A section reads and writes one bin of four bytes. Threads have blocks of rows. By default there are more
// bins than pixels, as in the paper's Fig. 5a, whose sizes are not published.
//
// At the end each bin must have the number of its pixels in the image: else "WRONG ..." and exit code 1.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <string>
#include <vector>

#include "hpc/application.h"
#include "hpc/sections.h"

namespace {

using workloads::CheapRandom;
using workloads::CommandLine;
using workloads::Share;
using workloads::hpc::Thread;

class Histogram {
 public:
  struct Options : workloads::hpc::Options {
    std::uint32_t width = 256, height = 64, bins = 1 << 16;
  };
  static constexpr const char* kName = "histogram";
  static constexpr const char* kDescription = "Parallel construction of an image's histogram";
  static constexpr const char* kUnit = "pixels";

  static void add_options(CommandLine& line, Options& options) {
    line.add("--width", options.width, "of the image, in pixels").within(1, 1 << 14);
    line.add("--height", options.height, "of the image, in pixels").within(1, 1 << 14);
    line.add("--bins", options.bins, "of the histogram").within(1, 1 << 24);
  }
  static std::string complaint(const Options&) { return {}; }
  static std::span<const workloads::hpc::Variant<Histogram>> variants();

  explicit Histogram(const Options& options)
      : width_(options.width), height_(options.height), bins_(options.bins), copies_(options.threads) {
    CheapRandom random(options.seed);
    pixels_.resize(std::size_t{width_} * height_);
    for (std::uint32_t& pixel : pixels_) pixel = random.below(options.bins);
    if (options.variant != "privatised") return;
    for (std::vector<std::uint32_t>& copy : copies_) copy.resize(options.bins);
  }

  std::uint64_t units() const { return pixels_.size(); }

  std::string error(unsigned passes) const {
    std::vector<std::uint32_t> expected(bins_.size());
    for (const std::uint32_t pixel : pixels_) expected[pixel] += passes;
    std::int64_t lost = 0;
    std::uint32_t wrong = 0;
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      lost += static_cast<std::int64_t>(expected[bin]) - bins_[bin];
      wrong += bins_[bin] != expected[bin] ? 1 : 0;
    }
    if (wrong == 0) return {};
    return "counts: " + std::to_string(lost) + " pixels are missing, " + std::to_string(wrong) +
           " bins are wrong";
  }

  /// Calls `count(bin)` for each pixel in the thread's rows.
  template <class Count>
  void visit_rows(const Thread& thread, Count count) {
    const Share rows = thread.share(height_);
    for (std::size_t i = rows.begin * width_; i < rows.end * width_; ++i) count(pixels_[i]);
  }

  /// Loads and then stores, so a count in between is lost.
  void count(std::uint32_t bin) {
    volatile std::uint32_t& value = bins_[bin];
    value = value + 1;
  }

  template <class Sections>
  static void in_sections(Histogram& self, const Thread& thread) {
    const Share rows = thread.share(self.height_);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      Sections sections(thread);
      const std::uint32_t* const pixels = &self.pixels_[row * self.width_];
      for (std::uint32_t x = 0; x < self.width_; ++x) sections.section([&] { self.count(pixels[x]); });
    }
  }

  static void atomically(Histogram& self, const Thread& thread) {
    self.visit_rows(thread, [&](std::uint32_t bin) {
      std::atomic_ref(self.bins_[bin]).fetch_add(1, std::memory_order_relaxed);
    });
  }

  static void privatised(Histogram& self, const Thread& thread) {
    std::vector<std::uint32_t>& mine = self.copies_[thread.index];
    std::ranges::fill(mine, 0);
    self.visit_rows(thread, [&](std::uint32_t bin) { ++mine[bin]; });
    thread.wait_for_all();
    workloads::add_up_copies(self.copies_, thread.share(self.bins_.size()),
                             [&](std::size_t bin, std::uint32_t sum) { self.bins_[bin] += sum; });
    thread.wait_for_all();  // the next pass clears the copies
  }

 private:
  const std::uint32_t width_, height_;
  std::vector<std::uint32_t> pixels_;  // the bin of each, row by row
  std::vector<std::uint32_t> bins_;
  std::vector<std::vector<std::uint32_t>> copies_;  // of each thread
};

std::span<const workloads::hpc::Variant<Histogram>> Histogram::variants() {
  static constexpr workloads::hpc::Variant<Histogram> kVariants[] = {
      {"none", in_sections<workloads::hpc::Unsynchronised>},
      {"baseline", atomically},
      {"tsx-init", in_sections<workloads::hpc::OneByOne>},
      {"tsx-coarsen", in_sections<workloads::hpc::Coarsened>},
      {"tsx-adapt", in_sections<workloads::hpc::Adaptive>},
      {"privatised", privatised},
  };
  return kVariants;
}

}  // namespace

int main(int argc, char** argv) { return workloads::hpc::program<Histogram>(argc, argv); }
