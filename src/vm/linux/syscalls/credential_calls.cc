// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/credential_calls.h"

#include <linux/capability.h>

#include <cerrno>

#include "vm/host/host_call.h"
#include "vm/linux/syscalls/guest_call.h"

namespace elision::vm {
namespace {

/// An existing holder of exactly these credentials; null in it stands for the engine's thread.
std::optional<std::shared_ptr<CredentialHolder>> find_holder(const Process& process,
                                                             const Credentials& wanted) {
  if (credentials_of(nullptr) == wanted) return nullptr;
  std::optional<std::shared_ptr<CredentialHolder>> found;
  process.visit_runners([&](const KernelThread& each) {
    const auto& holder = each.credentials;
    if (!found && holder != nullptr && credentials_of(holder.get()) == wanted) found = holder;
  });
  return found;
}

/// If all guest threads have the same credentials, the engine's thread adopts them and the holders go.
void settle(Process& process) {
  const auto common = process.threads.front()->credentials;
  const auto differs = [&](const KernelThread& each) { return each.credentials != common; };
  if (common == nullptr || process.any_runner(differs)) return;
  const auto possible = credentials_for_child(*process.threads.front());
  if (!possible) return;
  adopt(**possible);
  process.visit_runners([](KernelThread& each) { each.credentials = nullptr; });
}

}  // namespace

long call_as(const KernelThread& thread, long number, std::uint64_t a0, std::uint64_t a1, std::uint64_t a2,
             std::uint64_t a3, std::uint64_t a4, std::uint64_t a5) {
  return run_as(thread.credentials.get(), [&] { return host_call(number, a0, a1, a2, a3, a4, a5); });
}

bool is_capable(const KernelThread& thread, unsigned capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return call_as(thread, SYS_capget, reinterpret_cast<std::uint64_t>(&header),
                 reinterpret_cast<std::uint64_t>(data)) == 0 &&
         (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

OrErrno<std::optional<Credentials>> credentials_for_child(const KernelThread& thread) {
  if (thread.credentials == nullptr) return std::optional<Credentials>();
  auto wanted = credentials_of(thread.credentials.get());
  const auto trial = wanted ? CredentialHolder::start(nullptr) : nullptr;
  if (trial == nullptr) return Errno{-EAGAIN};
  const bool succeeded = run_as(trial.get(), [&] {
    adopt(*wanted);
    return credentials_of(nullptr) == wanted;
  });
  if (!succeeded) return Errno{-EAGAIN};
  return wanted;
}

SyscallOutcome sys_set_credentials(Call& call) {
  Process& process = call.process;
  KernelThread& self = call.self;
  const bool alone = !process.has_several_runners() && self.credentials == nullptr;
  if (alone || process.inside_vfork != nullptr) return pass_through(call);
  const auto before = self.credentials;
  const auto own = CredentialHolder::start(before.get());
  if (own == nullptr) return call.finish(-EAGAIN);
  self.credentials = own;
  const long result = guest_call(call);
  self.credentials = before;
  const auto changed = credentials_of(own.get());
  if (result < 0 || !changed) return call.finish(result);
  self.credentials = find_holder(process, *changed).value_or(own);
  settle(process);
  return call.finish(result);
}

}  // namespace elision::vm
