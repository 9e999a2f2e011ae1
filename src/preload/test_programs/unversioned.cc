// SPDX-License-Identifier: Apache-2.0
// A library whose references to the C library have no versions: two threads take turns by a condition
// variable.
#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace {

struct Turns {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond;
  int turns = 0, turn = 0;
  bool failed = false;
};

void take(Turns& t, int mine) {
  for (int i = 0; i < t.turns; ++i) {
    pthread_mutex_lock(&t.mutex);
    while (t.turn % 2 != mine) t.failed |= pthread_cond_wait(&t.cond, &t.mutex) != 0;
    ++t.turn;
    t.failed |= (i % 2 == 0 ? pthread_cond_signal(&t.cond) : pthread_cond_broadcast(&t.cond)) != 0;
    pthread_mutex_unlock(&t.mutex);
  }
}

}  // namespace

/// 0 if each thread had its turns, and nothing wrote outside of the old layout's 16 bytes.
extern "C" int unversioned_turns(int turns) {
  Turns t;
  t.turns = turns;
  auto* words = reinterpret_cast<unsigned long*>(&t.cond);
  for (unsigned i = 0; i < sizeof t.cond / sizeof *words; ++i) words[i] = 0x5a5a5a5a5a5a5a5a;
  if (pthread_cond_init(&t.cond, nullptr) != 0) return 1;
  pthread_t other;
  const auto body = [](void* argument) -> void* {
    take(*static_cast<Turns*>(argument), 1);
    return nullptr;
  };
  if (pthread_create(&other, nullptr, body, &t) != 0) return 2;
  take(t, 0);
  pthread_join(other, nullptr);
  constexpr timespec kLongAgo{1, 0};
  pthread_mutex_lock(&t.mutex);
  const bool timed_out = pthread_cond_timedwait(&t.cond, &t.mutex, &kLongAgo) == ETIMEDOUT;
  pthread_mutex_unlock(&t.mutex);
  for (unsigned i = 2; i < sizeof t.cond / sizeof *words; ++i) t.failed |= words[i] != 0x5a5a5a5a5a5a5a5a;
  if (pthread_cond_destroy(&t.cond) != 0) return 3;
  return t.turn == 2 * turns && timed_out && !t.failed ? 0 : 4;
}
