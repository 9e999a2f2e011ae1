// SPDX-License-Identifier: Apache-2.0
// physicsSolver (TSX paper, sections 5.1, 5.2 and 5.4, Fig. 5b): resolves contacts between pairs of objects
// by projected successive over-relaxation (PSOR). Written from the paper's description.
//
// A pass resolves each contact once: it reads the total force on both objects, corrects the contact's own
// force so that the objects do not approach each other and the force does not pull, and adds the change to
// both totals.
//
//   none         no synchronisation: forces are lost
//   baseline     a pthread mutex for each object, taken in the order of addresses
//   elided       the same with elision::mutex, one transaction inside the other
//   lockset      both mutexes as one set (5.2.1). A thread that gives up elision takes both
//   tsx-init     a transaction for each contact, under one mutex for all, as in the paper
//   tsx-coarsen  --granularity contacts in a transaction
//   tsx-adapt    the same by an elision::coarsener that adapts
//   barrier      groups of contacts without common objects, with a barrier after each group (5.4.2). The
//                counted time does not include forming the groups
//
// A section reads two lines of each object and writes one of them, and writes the contact's own line. The
// scene: objects in a row, each in contact with some of the next ones, and a few large objects that touch
// many others (--large, --large-percent). Threads have blocks of contacts, in the order of the row.
//
// Changes are multiples of 2^-20, so sums are exact in any order. At the end the force on each object must be
// the sum of those of its contacts, no contact may pull, and if there are forces, the objects must have
// lost kinetic energy, because each correction reduces it: else "WRONG ..." and exit code 1.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conflict_free.h"
#include "hpc/application.h"
#include "hpc/sections.h"

namespace {

using workloads::CheapRandom;
using workloads::CommandLine;
using workloads::Share;
using workloads::hpc::Thread;

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Rounds to a multiple of 2^-20. `value` must be far below 2^31.
double rounded(double value) {
  constexpr double kShift = 6755399441055744.0 / (1 << 20);  // 1.5 * 2^52
  return (value + kShift) - kShift;
}

/// One line has a pthread mutex and the data that it guards. The next line has the data that threads only
/// read.
struct alignas(128) Object {
  std::mutex mutex;
  Vector force{};  // of all contacts
  Vector velocity{};
  double inverse_mass = 1;
};

/// A contact belongs to the thread that resolves it.
struct alignas(64) Contact {
  std::uint32_t one, other;
  Vector normal;  // from one to the other
  double size = 0;
  Vector force{};  // on the one; the other gets its opposite
};

class PhysicsSolver {
 public:
  struct Options : workloads::hpc::Options {
    std::uint32_t objects = 2048, contacts = 8192, large = 4;
    unsigned large_percent = 4;
  };
  static constexpr const char* kName = "physics_solver";
  static constexpr const char* kDescription = "PSOR over contacts between pairs of objects";
  static constexpr const char* kUnit = "contacts";

  static void add_options(CommandLine& line, Options& options) {
    line.add("--objects", options.objects).within(2, 1 << 24);
    line.add("--contacts", options.contacts).within(1, 1 << 24);
    line.add("--large", options.large, "objects that touch many others").within(1, 1 << 10);
    line.add("--large-percent", options.large_percent, "contacts with a large object").within(0, 100);
  }
  static std::string complaint(const Options& options) {
    return options.large >= options.objects ? "--large: not less than --objects" : "";
  }
  static std::span<const workloads::hpc::Variant<PhysicsSolver>> variants();

  explicit PhysicsSolver(const Options& options);

  std::uint64_t units() const { return contacts_.size(); }
  std::string error(unsigned passes) const;

  template <class Sections>
  static void in_sections(PhysicsSolver& self, const Thread& thread) {
    Sections sections(thread);
    self.visit(thread, [&](Contact& contact) { sections.section([&] { self.resolve(contact); }); });
  }

  static void locked(PhysicsSolver& self, const Thread& thread) {
    self.visit(thread, [&](Contact& contact) {
      const auto [low, high] = std::minmax(contact.one, contact.other);
      const std::lock_guard first(self.objects_[low].mutex), second(self.objects_[high].mutex);
      self.resolve(contact);
    });
  }

  static void elided(PhysicsSolver& self, const Thread& thread) {
    self.visit(thread, [&](Contact& contact) {
      const auto [low, high] = std::minmax(contact.one, contact.other);
      const std::lock_guard first(self.elided_[low]), second(self.elided_[high]);
      self.resolve(contact);
    });
  }

  static void as_one_set(PhysicsSolver& self, const Thread& thread) {
    self.visit(thread, [&](Contact& contact) {
      const elision::lockset both(self.elided_[contact.one], self.elided_[contact.other]);
      self.resolve(contact);
    });
  }

  static void with_barriers(PhysicsSolver& self, const Thread& thread) {
    for (const std::vector<std::uint32_t>& group : self.groups_) {
      const Share share = thread.share(group.size());
      for (std::size_t i = share.begin; i < share.end; ++i) self.resolve(self.contacts_[group[i]]);
      thread.wait_for_all();
    }
  }

 private:
  static constexpr double kRelaxation = 0.8;
  static constexpr std::uint32_t kReach = 8;  // an object touches some of as many next ones

  Contact draw_contact(const Options& options, CheapRandom& random) const;
  void form_groups(CheapRandom& random);
  void resolve(Contact& contact);
  /// Returns how fast the objects of a contact approach each other, with the forces so far.
  double approach(const Contact& contact) const;
  double kinetic_energy() const;

  template <class Visit>
  void visit(const Thread& thread, Visit visit) {
    const Share share = thread.share(contacts_.size());
    for (std::size_t i = share.begin; i < share.end; ++i) visit(contacts_[i]);
  }

  std::vector<Object> objects_;
  std::vector<elision::mutex> elided_;
  std::vector<Contact> contacts_;
  std::vector<std::vector<std::uint32_t>> groups_;  // of contacts without common objects
  const bool is_synchronised_;
  double first_energy_ = 0;
};

PhysicsSolver::PhysicsSolver(const Options& options)
    : objects_(options.objects), elided_(options.objects), is_synchronised_(options.variant != "none") {
  CheapRandom random(options.seed);
  const auto signed_unit = [&random] { return random.below(2001) / 1000.0 - 1; };
  for (std::uint32_t i = 0; i < options.objects; ++i) {
    objects_[i].inverse_mass = i < options.large ? 1.0 / 64 : 1;
    for (double& part : objects_[i].velocity) part = signed_unit();
  }
  for (std::uint32_t i = 0; i < options.contacts; ++i) contacts_.push_back(draw_contact(options, random));
  // Contacts are in the order of the row. Large objects have the lowest numbers, so the other object
  // decides.
  std::ranges::sort(contacts_, {},
                    [](const Contact& contact) { return std::max(contact.one, contact.other); });
  for (Contact& contact : contacts_) {
    for (double& part : contact.normal) part = signed_unit() + 0.001;
    const double length = std::sqrt(dot(contact.normal, contact.normal));
    for (double& part : contact.normal) part /= length;
  }
  first_energy_ = kinetic_energy();
  if (options.variant == "barrier") form_groups(random);
}

/// Puts contacts into groups in a random order: in the order of the row, each contact would have to follow
/// the one before it. Then sorts each group in the order of the row, so that a thread has the same objects
/// in all groups.
void PhysicsSolver::form_groups(CheapRandom& random) {
  std::vector<std::uint32_t> order(contacts_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i], order[random.below(i + 1)]);
  }
  const auto objects_of = [&](std::uint32_t i) { return std::array{contacts_[i].one, contacts_[i].other}; };
  groups_ = workloads::form_groups(std::span<const std::uint32_t>(order), objects_.size(), objects_of);
  for (std::vector<std::uint32_t>& group : groups_) std::ranges::sort(group);
}

Contact PhysicsSolver::draw_contact(const Options& options, CheapRandom& random) const {
  const std::uint32_t small = options.objects - options.large;
  const std::uint32_t one = options.large + random.below(small);
  if (small == 1 || random.below(100) < options.large_percent) return {random.below(options.large), one, {}};
  const std::uint32_t next = (one - options.large + 1 + random.below(std::min(kReach, small - 1))) % small;
  return {one, options.large + next, {}};
}

double PhysicsSolver::approach(const Contact& contact) const {
  const Object &one = objects_[contact.one], &other = objects_[contact.other];
  double sum = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double velocity_of_one = one.velocity[d] + one.force[d] * one.inverse_mass;
    const double velocity_of_other = other.velocity[d] + other.force[d] * other.inverse_mass;
    sum += contact.normal[d] * (velocity_of_one - velocity_of_other);
  }
  return sum;
}

/// The work of a section. It loads and then stores each number, so a change in between is lost.
void PhysicsSolver::resolve(Contact& contact) {
  Object &one = objects_[contact.one], &other = objects_[contact.other];
  const double change = -kRelaxation * approach(contact) / (one.inverse_mass + other.inverse_mass);
  const double size = std::min(contact.size + change, 0.0);  // it pushes the one back
  for (std::size_t d = 0; d < 3; ++d) {
    const double part = rounded((size - contact.size) * contact.normal[d]);
    one.force[d] += part;
    other.force[d] -= part;
    contact.force[d] += part;
  }
  contact.size = size;
}

double PhysicsSolver::kinetic_energy() const {
  double sum = 0;
  for (const Object& object : objects_) {
    for (std::size_t d = 0; d < 3; ++d) {
      const double velocity = object.velocity[d] + object.force[d] * object.inverse_mass;
      sum += velocity * velocity / (2 * object.inverse_mass);
    }
  }
  return sum;
}

std::string PhysicsSolver::error(unsigned) const {
  std::vector<Vector> forces(objects_.size());
  std::size_t wrong = 0, pulling = 0;
  for (const Contact& contact : contacts_) {
    for (std::size_t d = 0; d < 3; ++d) {
      forces[contact.one][d] += contact.force[d];
      forces[contact.other][d] -= contact.force[d];
    }
    pulling += contact.size > 0 ? 1 : 0;
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) wrong += objects_[i].force != forces[i] ? 1 : 0;
  const bool has_forces =
      std::ranges::any_of(objects_, [](const Object& one) { return one.force != Vector{}; });
  if (wrong != 0) return "forces on " + std::to_string(wrong) + " objects";
  if (pulling != 0) return "contacts: " + std::to_string(pulling) + " pull";
  if (is_synchronised_ && has_forces && !(kinetic_energy() < first_energy_))
    return "solution: no kinetic energy was lost";
  return {};
}

std::span<const workloads::hpc::Variant<PhysicsSolver>> PhysicsSolver::variants() {
  static constexpr workloads::hpc::Variant<PhysicsSolver> kVariants[] = {
      {"none", in_sections<workloads::hpc::Unsynchronised>},
      {"baseline", locked},
      {"elided", elided},
      {"lockset", as_one_set},
      {"tsx-init", in_sections<workloads::hpc::OneByOne>},
      {"tsx-coarsen", in_sections<workloads::hpc::Coarsened>},
      {"tsx-adapt", in_sections<workloads::hpc::Adaptive>},
      {"barrier", with_barriers},
  };
  return kVariants;
}

}  // namespace

int main(int argc, char** argv) { return workloads::hpc::program<PhysicsSolver>(argc, argv); }
