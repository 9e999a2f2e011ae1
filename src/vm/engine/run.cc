// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/run.h"

#include <fcntl.h>
#include <immintrin.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "machine/variation.h"
#include "vm/engine/engine.h"
#include "vm/engine/snapshot_server.h"
#include "vm/host/host_limits.h"
#include "vm/linux/load/hand_over.h"

namespace elision::vm {
namespace {

constexpr unsigned long kFsgsbase = 1u << 1;  // AT_HWCAP2

std::string path_of(const Options& options, const char* file) { return options.stats_directory + "/" + file; }

int fail(const Options& options, const std::string& message) {
  leave_note(options, kNotStartedFile, message);
  std::fprintf(stderr, "elision: %s\n", message.c_str());
  return 2;
}

/// The message for a host feature that translated code needs and the host lacks, or an empty string.
std::string missing_on_host() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return "this CPU has no AVX2, which the virtual machine needs";
  if (!__builtin_cpu_supports("bmi2")) return "this CPU has no BMI2, which the virtual machine needs";
  if ((getauxval(AT_HWCAP2) & kFsgsbase) == 0)
    return "this kernel does not let programs use FSGSBASE, which the virtual machine needs";
  return "";
}

MachineIdentity identity_of(const machine::Description& m) {
  MachineIdentity identity;
  identity.brand = m.cpuid.brand;
  identity.family = m.cpuid.family;
  identity.model = m.cpuid.model;
  identity.stepping = m.cpuid.stepping;
  identity.megahertz = m.frequency_mhz;
  identity.topology = m.topology;
  identity.cache_kilobytes = m.l3.size_kb;
  return identity;
}

ProgramRequest request_of(const std::string& program, const std::vector<std::string>& argv,
                          char** environment) {
  ProgramRequest request;
  request.path = program;
  request.arguments = argv;
  for (char** entry = environment; *entry != nullptr; ++entry) request.environment.emplace_back(*entry);
  return request;
}

int start(const Options& options, const ProgramRequest& request, const ProcessOrigin& origin) {
  if (const std::string scarce = lift_host_limits(); !scarce.empty()) return fail(options, scarce);
  if (const std::string missing = missing_on_host(); !missing.empty()) return fail(options, missing);
  const Result<machine::Machine> loaded = machine::load_machine(options.machine);
  if (!loaded) return fail(options, loaded.error());
  const Result<machine::Variation> variation = machine::variation_of(*loaded, options.variation);
  if (!variation) return fail(options, variation.error());
  Fallible<CheckedProgram> program = check_program(request);
  if (!program) return fail(options, program.error());
  const machine::Description& description = variation->machine.description;
  const unsigned cpus = options.cpus == 0 ? description.topology.cpus() : options.cpus;
  Engine* engine = nullptr;  // never destroyed: the process ends when the guest does
  try {
    engine = new Engine(options, description, description.name);
  } catch (const std::bad_alloc&) {
    return fail(options, "out of memory for " + std::to_string(cpus) + " virtual CPUs");
  } catch (const std::runtime_error& failure) {
    return fail(options, failure.what());
  }
  return fail(options,
              engine->run_program(program.value(), request.environment, identity_of(description), origin));
}

}  // namespace

void leave_note(const Options& options, const char* file, const std::string& why) {
  if (options.stats_directory.empty()) return;
  const int descriptor = open(path_of(options, file).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  (void)!write(descriptor, why.data(), why.size());
  close(descriptor);
}

int run_virtual_machine(const Options& options, const std::string& program,
                        const std::vector<std::string>& argv, char** environment) {
  const ProgramRequest request = request_of(program, argv, environment);
  // It may remain from an earlier run with the same directory.
  if (!options.stats_directory.empty()) unlink(path_of(options, kNotStartedFile).c_str());
  ProcessOrigin origin;
  origin.limits = host_limits();
  origin.scheduling.nice = getpriority(PRIO_PROCESS, 0);
  return start(options, request, origin);
}

std::optional<int> run_from_snapshot(const std::string& path, const Options& options,
                                     const std::string& program, const std::vector<std::string>& argv,
                                     char** environment, std::string& why) {
  for (const char* note : {kNotStartedFile, kNoCopyFile})  // of an earlier run with the same directory
    if (!options.stats_directory.empty()) unlink(path_of(options, note).c_str());
  return run_copy(path, {options, request_of(program, argv, environment), {}}, why);
}

int resume_virtual_machine(int descriptor) {
  Fallible<HandOver> handed = read_hand_over(descriptor);
  if (!handed) return fail({}, handed.error());
  return start(handed->options, handed->program, handed->origin);
}

}  // namespace elision::vm
