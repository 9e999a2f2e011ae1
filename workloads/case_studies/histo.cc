// SPDX-License-Identifier: Apache-2.0
// Histo: counts the pixels of an image in a two-dimensional histogram whose bins saturate at 255. Written
// from the description of Parboil's program in the TxSampler paper (section 8.3, Listings 3 and 4).
//
//   original  a section for each pixel: reads a bin, and increments it unless it is full
//   merged    a section for each --granularity pixels
//   sorted    the same, with the pixels sorted before the run, so that threads count in different bins
//   atomics   no sections: a loop over a compare-and-exchange for each pixel
//
// A bin is a byte, so a line of memory has 64 bins and threads that count in different bins conflict. In
// input 1 all pixels are in few bins, which fill up; then sections only read. In input 2 they are spread
// over all bins.
//
// An iteration clears the histogram and counts all pixels again. Each thread counts a contiguous share of
// them. After each iteration the sum over all bins must be right, and after the last one each bin: else
// "LOST ..." and exit code 1.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "case_studies/case_study.h"
#include "command_line.h"
#include "support.h"
#include "team.h"

namespace {

using workloads::CheapRandom;
using Bin = std::uint8_t;

constexpr Bin kFull = 255;
// The paper's granularities for inputs 1 and 2.
constexpr std::array<std::uint32_t, 2> kGranularities = {10000, 1000};

struct Options {
  workloads::CaseOptions common;
  unsigned input = 1;
  std::uint32_t pixels = 200000;
  std::uint32_t width = 256, height = 512;  // of the histogram
  std::uint32_t granularity = 0;            // 0: the paper's
  unsigned iterations = 1;
};

/// Draws the bin of a pixel. In input 1 all bins are in a small square in the middle.
std::uint32_t draw_pixel(const Options& options, CheapRandom& random) {
  const auto coordinate = [&](std::uint32_t size) {
    return options.input == 2 ? random.below(size) : size / 2 + random.below(size / 32 + 1);
  };
  const std::uint32_t row = coordinate(options.height);
  return row * options.width + coordinate(options.width);
}

std::vector<std::uint32_t> draw_image(const Options& options) {
  CheapRandom random(options.common.seed);
  std::vector<std::uint32_t> image(options.pixels);
  for (std::uint32_t& pixel : image) pixel = draw_pixel(options, random);
  if (options.common.variant == "sorted") std::ranges::sort(image);
  return image;
}

std::vector<Bin> count_alone(const std::vector<std::uint32_t>& image, std::size_t bins) {
  std::vector<Bin> histogram(bins);
  for (const std::uint32_t pixel : image)
    if (histogram[pixel] < kFull) ++histogram[pixel];
  return histogram;
}

std::uint64_t sum_of(const std::vector<Bin>& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

/// Shared by all threads. The lock has lines of its own.
struct World {
  explicit World(const Options& given)
      : options(given),
        granularity(given.granularity != 0 ? given.granularity : kGranularities[given.input - 1]),
        image(draw_image(given)),
        histogram(std::size_t{given.width} * given.height),
        expected(count_alone(image, histogram.size())),
        expected_sum(sum_of(expected)) {}

  const Options options;
  const std::uint32_t granularity;
  const std::vector<std::uint32_t> image;
  std::vector<Bin> histogram;
  const std::vector<Bin> expected;
  const std::uint64_t expected_sum;
  std::uint64_t lost = 0;  // of all iterations
  alignas(128) std::mutex critical;
};

/// Loads and then stores, so another thread's increment in between is lost.
void count(Bin& bin) {
  volatile Bin& shared = bin;
  const Bin seen = shared;
  if (seen < kFull) shared = static_cast<Bin>(seen + 1);
}

void count_one_by_one(World& world, unsigned thread) {
  const auto [begin, end] = workloads::share_of(world.image.size(), thread, world.options.common.threads);
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t pixel = world.image[i];
    const std::lock_guard lock(world.critical);
    count(world.histogram[pixel]);
  }
}

void count_merged(World& world, unsigned thread) {
  const std::size_t sections = world.image.size() / world.granularity + 1;
  const auto [begin, end] = workloads::share_of(sections, thread, world.options.common.threads);
  for (std::size_t section = begin; section < end; ++section) {
    const std::size_t first = section * world.granularity;
    const std::size_t last = std::min(first + world.granularity, world.image.size());
    const std::lock_guard lock(world.critical);
    for (std::size_t i = first; i < last; ++i) count(world.histogram[world.image[i]]);
  }
}

/// A compare-and-exchange tests and increments in one step, so no bin overflows.
void count_atomically(World& world, unsigned thread) {
  const auto [begin, end] = workloads::share_of(world.image.size(), thread, world.options.common.threads);
  for (std::size_t i = begin; i < end; ++i) {
    Bin& bin = world.histogram[world.image[i]];
    Bin seen = __atomic_load_n(&bin, __ATOMIC_RELAXED);
    while (seen < kFull && !__atomic_compare_exchange_n(&bin, &seen, static_cast<Bin>(seen + 1), true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
}

struct Variant {
  const char* name;
  void (*count)(World& world, unsigned thread);
};

constexpr Variant kVariants[] = {
    {"original", count_one_by_one},
    {"merged", count_merged},
    {"sorted", count_merged},
    {"atomics", count_atomically},
};

std::uint64_t run_threads(World& world) {
  const auto count = std::ranges::find(kVariants, world.options.common.variant, &Variant::name)->count;
  const auto iterate = [&](unsigned thread, std::monostate, workloads::TeamBarrier& barrier) {
    for (unsigned i = 0; i < world.options.iterations; ++i) {
      if (thread == 0) std::ranges::fill(world.histogram, Bin{0});
      barrier.wait();
      count(world, thread);
      barrier.wait();
      if (thread == 0) world.lost += world.expected_sum - sum_of(world.histogram);
    }
  };
  const workloads::CaseOptions& common = world.options.common;
  return workloads::run_team(
      common.threads, !common.no_pin, [](unsigned) { return std::monostate{}; }, iterate);
}

/// Returns the first error, or an empty text if all is right.
std::string complaint(const World& world) {
  const auto [found, expected] = std::ranges::mismatch(world.histogram, world.expected);
  if (world.lost == 0 && found == world.histogram.end()) return {};
  std::string text = "LOST updates: the sum of all bins is " +
                     std::to_string(static_cast<std::int64_t>(world.lost)) + " too small";
  if (found != world.histogram.end())
    text += "; at the end bin " + std::to_string(found - world.histogram.begin()) + " has " +
            std::to_string(*found) + " instead of " + std::to_string(*expected);
  return text;
}

void add_options(workloads::CommandLine& line, Options& options) {
  workloads::add_case_options(line, options.common, {"original", "merged", "sorted", "atomics"});
  line.add("--input", options.input, "1: all pixels are in few bins, 2: in all").within(1, 2);
  line.add("--pixels", options.pixels, "of the image").within(1, 1 << 26);
  line.add("--width", options.width, "of the histogram").within(1, 1 << 13);
  line.add("--height", options.height, "of the histogram").within(1, 1 << 13);
  line.add("--granularity", options.granularity,
           "pixels of a merged section; 0: the paper's 10000 for input 1, 1000 for input 2")
      .within(0, 1 << 26);
  line.add("--iterations", options.iterations, "each clears the histogram first").within(1, 1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  workloads::CommandLine line("histo", "Parboil's histogram with bins that saturate");
  add_options(line, options);
  if (const auto code = line.parse(argc, argv)) return *code;
  const auto world = std::make_unique<World>(options);
  const std::uint64_t run_ns = run_threads(*world);
  workloads::print_throughput("pixels", std::uint64_t{options.pixels} * options.iterations, run_ns);
  return workloads::exit_code(complaint(*world));
}
