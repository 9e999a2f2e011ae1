// SPDX-License-Identifier: Apache-2.0
// canneal (TSX paper, section 5.2): simulated annealing places the elements of a circuit so that its wires
// are short. PARSEC has the original program. Written from the descriptions in the paper and of PARSEC.
//
// A thread draws two elements and computes how much shorter the wires get if both change places. It swaps
// them if the wires get shorter, or by chance while the temperature is high. The temperature falls after
// each pass. As in the original, a thread computes wires without synchronisation while other elements may
// move: that only makes a few decisions worse.
//
//   none         no synchronisation: places are lost
//   baseline     lock-free: an element's place is an atomic pointer. A swap checks the first place out, which
//                leaves null there, exchanges the second, and checks that in at the first; readers wait while
//                they see null
//   tsx-init     a transaction for each swap; places are read plainly
//   tsx-coarsen  --granularity swaps in a transaction, with what is computed between them
//
// The baseline reads places by locked instructions, as the "acquire" loads in the FreeBSD header that
// PARSEC uses; with --plain-reads by ordinary loads. A section reads and writes two pointers.
//
// At the end no two elements may have the same place. With one thread, the wires must be shorter by as much
// as the thread computed. Else "WRONG ..." and exit code 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "hpc/application.h"
#include "hpc/sections.h"

namespace {

using workloads::CheapRandom;
using workloads::CommandLine;
using workloads::Share;
using workloads::hpc::Thread;

struct Place {
  int x, y;
};

constexpr std::size_t kMostWires = 14;

/// An element has 128 bytes. In the original it has 88, without its wires.
struct alignas(64) Element {
  const Place* place;
  std::uint32_t wires = 0;
  std::array<std::uint32_t, kMostWires> others;  // the elements at the other ends
};

/// Reads and swaps places by atomic instructions.
struct LockFree {
  static void swap(Element& one, Element& other) {
    Element &first = &one < &other ? one : other, &second = &one < &other ? other : one;
    const Place* const of_first = exchange(first, nullptr);  // readers wait
    const Place* const of_second = exchange(second, of_first);
    __atomic_store_n(&first.place, of_second, __ATOMIC_RELEASE);
  }

 private:
  /// Waits until no swap has the place checked out.
  static const Place* exchange(Element& element, const Place* next) {
    for (;;) {
      const Place* seen = __atomic_load_n(&element.place, __ATOMIC_RELAXED);
      if (seen != nullptr &&
          __atomic_compare_exchange_n(&element.place, &seen, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return seen;
    }
  }
};

struct LockedRead {
  static Place read(const Element& element) {
    for (;;) {
      const Place* seen = nullptr;
      __atomic_compare_exchange_n(&const_cast<Element&>(element).place, &seen, seen, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE);
      if (seen != nullptr) return *seen;
    }
  }
};

struct AcquiringRead {
  static Place read(const Element& element) {
    for (;;) {
      const Place* const seen = __atomic_load_n(&element.place, __ATOMIC_ACQUIRE);
      if (seen != nullptr) return *seen;
    }
  }
};

struct PlainRead {
  static Place read(const Element& element) { return *__atomic_load_n(&element.place, __ATOMIC_RELAXED); }
};

/// What a thread keeps from pass to pass, on lines of its own.
struct alignas(128) Annealer {
  explicit Annealer(std::uint64_t seed) : random(seed) {}
  CheapRandom random;
  double temperature = 0;
  std::int64_t gained = 0;  // how much shorter the wires got, by its own computations
  std::uint64_t swaps = 0;
};

class Canneal {
 public:
  struct Options : workloads::hpc::Options {
    std::uint32_t elements = 4096, moves = 8192;
    unsigned wires = 5;
    double temperature = 100;
    bool plain_reads = false;
  };
  static constexpr const char* kName = "canneal";
  static constexpr const char* kDescription = "Simulated annealing of the places of a circuit's elements";
  static constexpr const char* kUnit = "moves";

  static void add_options(CommandLine& line, Options& options) {
    line.add("--elements", options.elements).within(2, 1 << 24);
    line.add("--moves", options.moves, "in a pass, of all threads together").within(1, 1 << 30);
    line.add("--wires", options.wires, "that begin at an element").within(1, kMostWires / 2);
    line.add("--temperature", options.temperature, "of the first pass").within_real(0, 1e6);
    line.add_flag("--plain-reads", options.plain_reads, "the baseline reads places by ordinary loads");
  }
  static std::string complaint(const Options&) { return {}; }
  static std::span<const workloads::hpc::Variant<Canneal>> variants();

  explicit Canneal(const Options& options);

  std::uint64_t units() const { return options_.moves; }
  std::string error(unsigned) const;

  static void lock_free(Canneal& self, const Thread& thread) {
    const auto swap = [](Element& one, Element& other) { LockFree::swap(one, other); };
    if (self.options_.plain_reads) return self.anneal<AcquiringRead>(thread, swap);
    self.anneal<LockedRead>(thread, swap);
  }

  template <class Sections>
  static void in_sections(Canneal& self, const Thread& thread) {
    Sections sections(thread);
    self.anneal<PlainRead>(
        thread, [&](Element& one, Element& other) { sections.section([&] { swap_plainly(one, other); }); });
  }

 private:
  static constexpr double kCooling = 1.5;

  void draw_wires(CheapRandom& random);

  /// Swaps by two loads and two stores.
  static void swap_plainly(Element& one, Element& other) {
    const Place *volatile &first = one.place, *volatile &second = other.place;
    const Place* const of_first = first;
    first = second;
    second = of_first;
  }

  /// A pass of a thread: `swap(one, other)` makes its swaps.
  template <class Read, class Swap>
  void anneal(const Thread& thread, Swap swap);

  /// Returns the length of an element's wires if it were at `place`. A wire to `partner`, which moves too,
  /// keeps its length.
  template <class Read>
  std::int64_t length_at(const Element& element, Place place, std::uint32_t partner) const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < element.wires; ++i) {
      if (element.others[i] == partner) continue;
      const Place other = Read::read(elements_[element.others[i]]);
      sum += std::abs(place.x - other.x) + std::abs(place.y - other.y);
    }
    return sum;
  }

  /// Returns the length of all wires, each counted at both ends.
  std::int64_t length() const {
    std::int64_t sum = 0;
    for (const Element& element : elements_)
      sum += length_at<PlainRead>(element, *element.place, static_cast<std::uint32_t>(elements_.size()));
    return sum;
  }

  const Options options_;
  std::vector<Place> places_;
  std::vector<Element> elements_;
  std::vector<Annealer> annealers_;  // of each thread
  std::int64_t first_length_ = 0;
};

Canneal::Canneal(const Options& options) : options_(options), elements_(options.elements) {
  CheapRandom random(options.seed);
  const auto side = static_cast<std::uint32_t>(std::ceil(std::sqrt(options.elements)));
  places_.resize(options.elements);
  for (std::uint32_t i = 0; i < options.elements; ++i)
    places_[i] = {static_cast<int>(i % side), static_cast<int>(i / side)};
  std::vector<std::uint32_t> order(options.elements);
  for (std::uint32_t i = 0; i < options.elements; ++i) order[i] = i;
  for (std::uint32_t i = options.elements - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  for (std::uint32_t i = 0; i < options.elements; ++i) elements_[i].place = &places_[order[i]];
  draw_wires(random);
  for (unsigned i = 0; i < options.threads; ++i) {
    annealers_.emplace_back(options.seed + 1 + i);
    annealers_.back().temperature = options.temperature;
  }
  first_length_ = length();
}

/// Wires lead to elements with near numbers, so that there is something to gain.
void Canneal::draw_wires(CheapRandom& random) {
  constexpr std::uint32_t kReach = 32;
  const auto count = static_cast<std::uint32_t>(elements_.size());
  for (std::uint32_t from = 0; from < count; ++from) {
    for (unsigned i = 0; i < options_.wires; ++i) {
      Element& here = elements_[from];
      const std::uint32_t to = (from + 1 + random.below(std::min(kReach, count - 1))) % count;
      if (here.wires == kMostWires || elements_[to].wires == kMostWires) continue;
      here.others[here.wires++] = to;
      elements_[to].others[elements_[to].wires++] = from;
    }
  }
}

template <class Read, class Swap>
void Canneal::anneal(const Thread& thread, Swap swap) {
  Annealer& own = annealers_[thread.index];
  const Share share = thread.share(options_.moves);
  const auto count = static_cast<std::uint32_t>(elements_.size());
  for (std::size_t i = share.begin; i < share.end; ++i) {
    const std::uint32_t one = own.random.below(count);
    const std::uint32_t other = (one + 1 + own.random.below(count - 1)) % count;
    Element &first = elements_[one], &second = elements_[other];
    const Place of_first = Read::read(first), of_second = Read::read(second);
    const std::int64_t longer =
        length_at<Read>(first, of_second, other) - length_at<Read>(first, of_first, other) +
        length_at<Read>(second, of_first, one) - length_at<Read>(second, of_second, one);
    const double chance = std::exp(-static_cast<double>(longer) / own.temperature);
    if (longer >= 0 && !(own.random.below(1 << 24) < chance * (1 << 24))) continue;
    swap(first, second);
    own.gained -= longer;
    ++own.swaps;
  }
  own.temperature /= kCooling;
}

std::string Canneal::error(unsigned) const {
  std::vector<bool> is_taken(places_.size());
  std::size_t lost = 0;
  for (const Element& element : elements_) {
    const auto place = static_cast<std::size_t>(element.place - places_.data());
    lost += is_taken[place] ? 1 : 0;
    is_taken[place] = true;
  }
  if (lost != 0) return "placement: " + std::to_string(lost) + " places are lost";
  const std::int64_t now = length(), gained = annealers_.front().gained;
  if (options_.threads == 1 && now != first_length_ - 2 * gained) return "length of wires";
  return {};
}

std::span<const workloads::hpc::Variant<Canneal>> Canneal::variants() {
  static constexpr workloads::hpc::Variant<Canneal> kVariants[] = {
      {"none", in_sections<workloads::hpc::Unsynchronised>},
      {"baseline", lock_free},
      {"tsx-init", in_sections<workloads::hpc::OneByOne>},
      {"tsx-coarsen", in_sections<workloads::hpc::Coarsened>},
  };
  return kVariants;
}

}  // namespace

int main(int argc, char** argv) { return workloads::hpc::program<Canneal>(argc, argv); }
