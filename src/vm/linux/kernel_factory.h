// SPDX-License-Identifier: Apache-2.0
// How the command line and the engine make a kernel and load a program into it:
//   check_program()            finds and checks the program; needs no engine (loader.h)
//   make_kernel()              once the engine's services answer
//   GuestKernel::load()        maps the program; the result is the first thread's registers
//   GuestKernel::adopt_main()  once the engine made that thread
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vm/interface/kernel.h"
#include "vm/interface/machine_identity.h"
#include "vm/interface/options.h"
#include "vm/linux/load/loader.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {

class GuestKernel : public Kernel {
 public:
  /// Maps `program` and closes its files; `environment` is the caller's, LD_PRELOAD of the options is
  /// added here.
  virtual Fallible<GuestState> load(CheckedProgram& program, std::vector<std::string> environment) = 0;
  /// Makes `thread` the process's first: gives it its number and the signal mask that the host process
  /// was started with.
  virtual void adopt_main(Thread& thread) = 0;
};

/// Installs host signal handlers; one kernel a host process.
std::unique_ptr<GuestKernel> make_kernel(EngineServices& services, const Options& options,
                                         const MachineIdentity& identity, const ProcessOrigin& origin);

}  // namespace elision::vm
