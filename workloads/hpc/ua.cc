// SPDX-License-Identifier: Apache-2.0
// ua (TSX paper, sections 5.1 and 5.2, Listing 2): heat on an adaptively refined mesh, as NPB's
// Unstructured Adaptive. Written from the descriptions in the paper and in NPB's report NAS-04-006.
//
// In a time step, each thread smooths the values in its elements (NPB multiplies them with matrices), gathers
// the values on their faces in the mortar points, waits for the others, and scatters the mean of each mortar
// point back.
//
//   none         no synchronisation: deposits are lost
//   baseline     an atomic addition for each point of a face
//   tsx-init     a transaction for each point
//   tsx-static   a transaction for the four corners of a face, and one for each other point
//   tsx-coarsen  the same sections, --granularity of them in a transaction
//   tsx-adapt    the same by an elision::coarsener that adapts
//
// A section adds to one mortar point of eight bytes, or to four. A corner of an element is on three faces,
// each of which deposits a third. A point of an edge is on two faces. Where elements of two sizes meet,
// they share the points of the larger element. The program leaves out NPB's projection between the two. It
// refines the mesh before the run and does not change it afterwards.
//
// Deposits are multiples of 2^-20, so sums are exact in any order. After the run all values must equal
// those that one thread computes: else "WRONG ..." and exit code 1.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atomic_add.h"
#include "hpc/application.h"
#include "hpc/mesh.h"
#include "hpc/sections.h"

namespace {

using namespace workloads::hpc;  // the mesh's names
using workloads::CommandLine;
using workloads::Share;

/// A third of a multiple of 3 * 2^-20 is a multiple of 2^-20: the product with the double nearest to 1/3
/// rounds to that multiple.
constexpr double kThird = 1.0 / 3, kUnit3 = 3.0 / (1 << 20);

class Ua {
 public:
  struct Options : workloads::hpc::Options {
    std::uint32_t base = 4;
  };
  static constexpr const char* kName = "ua";
  static constexpr const char* kDescription = "NPB's ua: heat on an adaptively refined mesh";
  static constexpr const char* kUnit = "deposits";

  static void add_options(CommandLine& line, Options& options) {
    line.add("--base", options.base, "elements along an edge of the domain before refinement").within(1, 32);
  }
  static std::string complaint(const Options&) { return {}; }
  static std::span<const Variant<Ua>> variants();

  explicit Ua(const Options& options)
      : options_(options),
        mesh_(options.base, options.seed),
        values_(mesh_.elements()),
        mortars_(mesh_.mortars()) {}

  std::uint64_t units() const { return mesh_.elements() * kFaces * kFacePoints; }

  std::string error(unsigned passes) const;

  template <class Sections, bool kCornersTogether>
  static void in_sections(Ua& self, const Thread& thread) {
    self.step(thread, [&](Share elements) {
      Sections sections(thread);
      for (std::size_t element = elements.begin; element < elements.end; ++element)
        self.gather<kCornersTogether>(element, sections);
    });
  }

  static void atomically(Ua& self, const Thread& thread) {
    self.step(thread, [&](Share elements) {
      for (std::size_t element = elements.begin; element < elements.end; ++element)
        self.visit_faces(element,
                         [&](double& mortar, double amount) { workloads::atomic_add(mortar, amount); });
    });
  }

 private:
  using Values = std::array<double, kPoints>;

  /// A time step of a thread. `gather(share)` deposits the values of its elements.
  template <class Gather>
  void step(const Thread& thread, Gather gather) {
    const Share elements = thread.share(mesh_.elements()), mortars = thread.share(mesh_.mortars());
    for (std::size_t mortar = mortars.begin; mortar < mortars.end; ++mortar) mortars_[mortar] = 0;
    for (std::size_t element = elements.begin; element < elements.end; ++element) smooth(element);
    thread.wait_for_all();
    gather(elements);
    thread.wait_for_all();
    for (std::size_t element = elements.begin; element < elements.end; ++element) scatter(element);
    thread.wait_for_all();
  }

  void smooth(std::size_t element);
  template <std::size_t kStride, std::size_t kSecond, std::size_t kThirdStride>
  static void smooth_lines(Values& values);
  void scatter(std::size_t element);

  /// Calls `deposit(mortar, amount)` for each point of each face.
  template <class Deposit>
  void visit_faces(std::size_t element, Deposit deposit) {
    const auto& mortars = mesh_.mortars_of(element);
    const Values& values = values_[element];
    for (const auto& face : faces_) {
      for (std::size_t i = 0; i < kFacePoints; ++i)
        deposit(mortars_[mortars[face[i]]], values[face[i]] * weight(i));
    }
  }

  template <bool kCornersTogether, class Sections>
  void gather(std::size_t element, Sections& sections) {
    if constexpr (!kCornersTogether) {
      visit_faces(element,
                  [&](double& mortar, double amount) { sections.section([&] { add(mortar, amount); }); });
    } else {
      const auto& mortars = mesh_.mortars_of(element);
      const Values& values = values_[element];
      for (const auto& face : faces_) {
        sections.section([&] {
          for (std::size_t i = 0; i < kCorners; ++i)
            add(mortars_[mortars[face[i]]], values[face[i]] * kThird);
        });
        for (std::size_t i = kCorners; i < kFacePoints; ++i) {
          sections.section([&] { add(mortars_[mortars[face[i]]], values[face[i]] * weight(i)); });
        }
      }
    }
  }

  /// Loads and then stores, so another thread's deposit in between is lost.
  static void add(double& mortar, double amount) {
    volatile double& value = mortar;
    value = value + amount;
  }
  static double weight(std::size_t i) { return i < kCorners ? kThird : i < kCorners + kEdgePoints ? 0.5 : 1; }

  const Options options_;
  const Mesh mesh_;
  const FaceTable faces_ = make_face_table();
  std::vector<Values> values_;  // of each element
  std::vector<double> mortars_;
};

/// Replaces each value by the mean of itself and its neighbours, along one direction after the other, and
/// rounds it to a multiple of three units. The source stays hot.
void Ua::smooth(std::size_t element) {
  Values& values = values_[element];
  if (mesh_.has_source(element)) values[kPoints / 2] = 1;
  smooth_lines<1, kSide, kSide * kSide>(values);
  smooth_lines<kSide, 1, kSide * kSide>(values);
  smooth_lines<kSide * kSide, 1, kSide>(values);
  for (double& value : values) value = kUnit3 * static_cast<int>(value * (1 / kUnit3));
}

/// Smooths along the direction in which neighbours are kStride apart.
template <std::size_t kStride, std::size_t kSecond, std::size_t kThirdStride>
void Ua::smooth_lines(Values& values) {
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) {
      double* const line = &values[i * kThirdStride + j * kSecond];
      double before = line[0];
      for (std::size_t at = 0; at < kSide; ++at) {
        const double here = line[at * kStride], behind = at + 1 < kSide ? line[(at + 1) * kStride] : here;
        line[at * kStride] = 0.25 * (before + behind) + 0.5 * here;
        before = here;
      }
    }
  }
}

void Ua::scatter(std::size_t element) {
  const auto& mortars = mesh_.mortars_of(element);
  for (const auto& face : faces_) {
    for (const std::uint8_t point : face)
      values_[element][point] = mortars_[mortars[point]] / mesh_.sharers(mortars[point]);
  }
}

std::string Ua::error(unsigned passes) const {
  Ua alone(options_);
  elision::mutex mutex;
  workloads::SpinBarrier barrier(1);
  for (unsigned pass = 0; pass < passes; ++pass)
    in_sections<Unsynchronised, false>(alone, Thread{0, 1, 1, mutex, barrier});
  std::size_t wrong = 0;
  for (std::size_t element = 0; element < values_.size(); ++element)
    wrong += values_[element] != alone.values_[element] ? 1 : 0;
  if (wrong == 0) return {};
  return "values in " + std::to_string(wrong) + " of " + std::to_string(values_.size()) + " elements";
}

std::span<const Variant<Ua>> Ua::variants() {
  static constexpr Variant<Ua> kVariants[] = {
      {"none", in_sections<Unsynchronised, false>},  {"baseline", atomically},
      {"tsx-init", in_sections<OneByOne, false>},    {"tsx-static", in_sections<OneByOne, true>},
      {"tsx-coarsen", in_sections<Coarsened, true>}, {"tsx-adapt", in_sections<Adaptive, true>},
  };
  return kVariants;
}

}  // namespace

int main(int argc, char** argv) { return program<Ua>(argc, argv); }
