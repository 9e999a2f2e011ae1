// SPDX-License-Identifier: Apache-2.0
#include "vm/host/credentials.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include "vm/host/host_call.h"
#include "vm/host/host_thread.h"

namespace elision::vm {
namespace {

constexpr unsigned kCapabilities = 64;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void read_line(Credentials& into, const std::string& name, std::istringstream rest) {
  const auto hexadecimal = [&](std::uint64_t& value) { rest >> std::hex >> value; };
  if (name == "Uid:") {
    for (std::uint32_t& user : into.users) rest >> user;
  } else if (name == "Gid:") {
    for (std::uint32_t& group : into.groups) rest >> group;
  } else if (name == "Groups:") {
    for (std::uint32_t group; rest >> group;) into.more_groups.push_back(group);
  } else if (name == "CapInh:") {
    hexadecimal(into.inheritable);
  } else if (name == "CapPrm:") {
    hexadecimal(into.permitted);
  } else if (name == "CapEff:") {
    hexadecimal(into.effective);
  } else if (name == "CapBnd:") {
    hexadecimal(into.bounding);
  } else if (name == "CapAmb:") {
    hexadecimal(into.ambient);
  } else if (name == "NoNewPrivs:") {
    rest >> into.no_new_privileges;
  }
}

void set_capabilities(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  for (unsigned i = 0; i < 2; ++i)
    data[i] = {static_cast<std::uint32_t>(effective >> (32 * i)),
               static_cast<std::uint32_t>(permitted >> (32 * i)),
               static_cast<std::uint32_t>(inheritable >> (32 * i))};
  host_call(SYS_capset, address_of(&header), address_of(data));
}

}  // namespace

std::shared_ptr<CredentialHolder> CredentialHolder::start(CredentialHolder* parent) {
  std::shared_ptr<CredentialHolder> holder(new CredentialHolder);
  holder->busy_ = 1;
  const auto start = [&] { return start_host_thread(holder->thread_, serve, holder.get()); };
  if (!run_as(parent, start)) return nullptr;
  holder->process_ = static_cast<pid_t>(host_call(SYS_getpid));
  holder->busy_.wait(1);
  return holder;
}

CredentialHolder::~CredentialHolder() {
  if (process_ == 0 || host_call(SYS_getpid) != process_) return;
  work_ = nullptr;
  busy_ = 1;
  busy_.notify_one();
  pthread_join(thread_, nullptr);
}

void* CredentialHolder::serve(void* argument) {
  auto& self = *static_cast<CredentialHolder*>(argument);
  self.thread_id_ = static_cast<int>(host_call(SYS_gettid));
  for (;;) {
    self.busy_ = 0;
    self.busy_.notify_one();
    self.busy_.wait(0);
    if (self.work_ == nullptr) return nullptr;
    self.work_(self.argument_);
  }
}

void CredentialHolder::run(void (*work)(void*), void* argument) {
  work_ = work;
  argument_ = argument;
  busy_ = 1;
  busy_.notify_one();
  busy_.wait(1);
}

std::optional<Credentials> credentials_of(CredentialHolder* holder) {
  const long id = holder != nullptr ? holder->thread_id() : host_call(SYS_gettid);
  std::ifstream status("/proc/self/task/" + std::to_string(id) + "/status");
  if (!status) return std::nullopt;
  Credentials result;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    read_line(result, name, std::move(words));
  }
  result.secure_bits = run_as(holder, [] { return host_call(SYS_prctl, PR_GET_SECUREBITS); });
  return result;
}

/// Makes changes that need capabilities before it gives those up. They survive the change of users until
/// then.
void adopt(const Credentials& wanted) {
  for (unsigned capability = 0; capability < kCapabilities; ++capability)
    if ((wanted.bounding >> capability & 1) == 0) host_call(SYS_prctl, PR_CAPBSET_DROP, capability);
  host_call(SYS_setgroups, wanted.more_groups.size(), address_of(wanted.more_groups.data()));
  host_call(SYS_setresgid, wanted.groups[0], wanted.groups[1], wanted.groups[2]);
  host_call(SYS_setfsgid, wanted.groups[3]);
  host_call(SYS_prctl, PR_SET_KEEPCAPS, 1);
  host_call(SYS_setresuid, wanted.users[0], wanted.users[1], wanted.users[2]);
  set_capabilities(wanted.permitted | 1ull << CAP_SETUID | 1ull << CAP_SETPCAP,
                   wanted.permitted | 1ull << CAP_SETUID | 1ull << CAP_SETPCAP, wanted.inheritable);
  host_call(SYS_setfsuid, wanted.users[3]);
  host_call(SYS_prctl, PR_SET_SECUREBITS, static_cast<std::uint64_t>(wanted.secure_bits));
  host_call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  for (unsigned capability = 0; capability < kCapabilities; ++capability)
    if ((wanted.ambient >> capability & 1) != 0)
      host_call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability);
  if (wanted.no_new_privileges) host_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
  set_capabilities(wanted.effective, wanted.permitted, wanted.inheritable);
  host_call(SYS_prctl, PR_SET_KEEPCAPS, (wanted.secure_bits & SECBIT_KEEP_CAPS) != 0);
}

}  // namespace elision::vm
