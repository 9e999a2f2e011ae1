// SPDX-License-Identifier: Apache-2.0
// Credentials of a guest thread in the host: user, groups and capabilities, which Linux keeps for each
// thread.
//
// All virtual threads run on one host thread. While they agree, that thread has their credentials and nothing
// here is used. A thread that changes its credentials while others exist gets a host thread with the new
// ones, a CredentialHolder, which makes its calls. When all threads agree again, as after the C library has
// broadcast a setuid, the engine's thread makes the same change and the holder goes.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace elision::vm {

struct Credentials {
  std::uint32_t users[4] = {}, groups[4] = {};  // real, effective, saved, of the file system
  std::vector<std::uint32_t> more_groups;
  std::uint64_t inheritable = 0, permitted = 0, effective = 0, bounding = 0, ambient = 0;
  long secure_bits = 0;
  bool no_new_privileges = false;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// A host thread with credentials of its own, which makes calls for guest threads with the same. It takes no
/// signals. A fork's child has the object without the thread and may only destroy it.
class CredentialHolder {
 public:
  /// Starts with the credentials of `parent`, or of the engine's thread if that is null. Returns null if the
  /// host gives no thread.
  static std::shared_ptr<CredentialHolder> start(CredentialHolder* parent);
  ~CredentialHolder();
  CredentialHolder(const CredentialHolder&) = delete;
  CredentialHolder& operator=(const CredentialHolder&) = delete;

  /// Runs `work` on the thread and waits for it. `work` must not block.
  void run(void (*work)(void*), void* argument);
  int thread_id() const { return thread_id_; }

 private:
  CredentialHolder() = default;
  static void* serve(void* self);

  pid_t process_ = 0;
  pthread_t thread_{};
  int thread_id_ = 0;
  void (*work_)(void*) = nullptr;  // null: end
  void* argument_ = nullptr;
  std::atomic<int> busy_{0};
};

/// Runs `work` with the credentials of `holder`, or of the engine's thread if that is null, and returns its
/// result. The engine's thread waits: `work` must not block.
template <class Work>
auto run_as(CredentialHolder* holder, const Work& work) {
  if (holder == nullptr) return work();
  std::optional<decltype(work())> result;
  auto there = [&] { result.emplace(work()); };
  holder->run([](void* self) { (*static_cast<decltype(there)*>(self))(); }, &there);
  return std::move(*result);
}

/// The credentials of `holder`, or of the calling host thread if that is null.
std::optional<Credentials> credentials_of(CredentialHolder* holder);
/// Gives the calling host thread these credentials, as far as the host allows.
void adopt(const Credentials& wanted);

}  // namespace elision::vm
