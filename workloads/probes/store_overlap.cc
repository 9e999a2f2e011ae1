// SPDX-License-Identifier: Apache-2.0
// How many stores that miss overlap (the probe "store-overlap"): store_overlap [ACCESSES [KILOBYTES...]].
//
// Ticks per access of random stores, random increments, independent random loads and dependent random loads,
// over arrays of each size. The time of dependent loads divided by that of stores is about the number of
// stores in progress. All use the same generator of addresses; its cost is that of the same loop over one
// line.
#include <string>

#include "experiment.h"

namespace {

/// A step of a 64-bit linear congruential generator; its high bits are the place.
inline std::uint64_t step(std::uint64_t state) { return state * 6364136223846793005u + 1442695040888963407u; }

enum class Access { kStore, kIncrement, kLoad, kDependentLoad };

template <Access kAccess>
double ticks_an_access(unsigned char* memory, std::uint64_t lines, std::uint64_t accesses) {
  std::uint64_t state = 12345, found = 0;
  const std::uint64_t before = probe::ticks();
  for (std::uint64_t i = 0; i < accesses; ++i) {
    state = step(state + (kAccess == Access::kDependentLoad ? found : 0));
    unsigned char* place = memory + (((state >> 32) * lines) >> 32) * probe::kLineBytes;
    if constexpr (kAccess == Access::kStore) probe::store(place, 0);
    if constexpr (kAccess == Access::kIncrement)
      asm volatile("addq $0, (%0)" : : "r"(place) : "memory", "cc");
    if constexpr (kAccess == Access::kLoad) (void)probe::load(place);
    if constexpr (kAccess == Access::kDependentLoad) found = probe::load(place);
  }
  probe::fence();
  return static_cast<double>(probe::ticks() - before) / static_cast<double>(accesses);
}

void run(const char* name, unsigned char* memory, std::uint64_t bytes, std::uint64_t accesses) {
  const std::uint64_t lines = bytes / probe::kLineBytes;
  (void)ticks_an_access<Access::kStore>(memory, lines, accesses);
  const double store = ticks_an_access<Access::kStore>(memory, lines, accesses);
  const double increment = ticks_an_access<Access::kIncrement>(memory, lines, accesses);
  const double load = ticks_an_access<Access::kLoad>(memory, lines, accesses);
  const double dependent = ticks_an_access<Access::kDependentLoad>(memory, lines, accesses);
  std::printf("%s_store_increment_load_dependent: %.2f %.2f %.2f %.2f\n", name, store, increment, load,
              dependent);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t accesses = probe::count_argument(argc, argv, 2000000);
  std::vector<std::uint64_t> kilobytes;
  for (int i = 2; i < argc; ++i) kilobytes.push_back(probe::count_argument(argc, argv, 1, i));
  if (kilobytes.empty()) kilobytes = {16, 128, 1024, 16 << 10, 256 << 10};
  probe::pin_to(0);
  const std::uint64_t most = *std::max_element(kilobytes.begin(), kilobytes.end());
  unsigned char* memory = probe::touched_memory(most << 10);
  for (std::uint64_t i = 0; i < most << 10; i += 8) probe::store(memory + i, 0);
  run("one_line", memory, probe::kLineBytes, accesses);
  for (const std::uint64_t size : kilobytes)
    run((std::to_string(size) + "_kb").c_str(), memory, size << 10, accesses);
  return 0;
}
