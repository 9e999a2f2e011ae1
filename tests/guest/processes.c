// SPDX-License-Identifier: Apache-2.0
// Processes: how they begin, what they share, how their ends are told; descriptors in ranges; process
// descriptors.
#define _GNU_SOURCE
#include <sys/resource.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

extern char** environ;

static long clone3(struct clone_args* arguments, size_t size) { return syscall(SYS_clone3, arguments, size); }

static int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_clone3(void) {
  struct clone_args arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.exit_signal = SIGCHLD;
  pid_t child = (pid_t)clone3(&arguments, sizeof arguments);
  if (child == 0) _exit(21);
  printf("clone3: %d\n", status_of(child));
  arguments.exit_signal = 300;
  long result = clone3(&arguments, sizeof arguments);
  printf("bad signal: %ld %d\n", result, errno == EINVAL);
  arguments.exit_signal = SIGCHLD;
  arguments.stack_size = 4096;
  result = clone3(&arguments, sizeof arguments);
  printf("bad stack: %ld %d\n", result, errno == EINVAL);
  result = clone3(&arguments, 8);
  printf("small: %ld %d\n", result, errno == EINVAL);
  result = clone3(&arguments, 10000);
  printf("large: %ld %d\n", result, errno == E2BIG);
  result = clone3((struct clone_args*)8, sizeof arguments);
  printf("bad pointer: %ld %d\n", result, errno == EFAULT);
  int tid = 0;
  memset(&arguments, 0, sizeof arguments);
  arguments.flags = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID;
  arguments.parent_tid = arguments.child_tid = (unsigned long)&tid;
  arguments.exit_signal = SIGCHLD;
  child = (pid_t)clone3(&arguments, sizeof arguments);
  if (child == 0) _exit(tid == getpid() ? 5 : 6);
  printf("tid: parent %d, child %d\n", tid == child, status_of(child));
}

static void test_spawn(void) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  char* const arguments[] = {"a name", "-c", "echo \"$0\" $HERE", "zero", NULL};
  char* const environment[] = {"HERE=there", NULL};
  pid_t child;
  fflush(stdout);
  int error = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environment);
  printf("spawned: %d, %d\n", error, error == 0 ? status_of(child) : -1);
  error = posix_spawn(&child, "/no/such", NULL, NULL, arguments, environ);
  printf("no program: %d\n", error == ENOENT);
  error = posix_spawn(&child, "/tmp", NULL, NULL, arguments, environ);
  printf("a folder: %d\n", error == EACCES);
  const pid_t first = vfork();
  if (first == 0) {
    execl("/no/such", "x", NULL);
    _exit(errno == ENOENT ? 33 : 34);
  }
  printf("vfork: %d\n", status_of(first));
  // argv[0] shows in /proc as it was given.
  char line[64] = "";
  int ends[2];
  (void)!pipe(ends);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  char* const show[] = {"shown name", "/proc/self/cmdline", NULL};
  error = posix_spawn(&child, "/bin/cat", &actions, NULL, show, environ);
  (void)!read(ends[0], line, sizeof line - 1);
  printf("argv[0]: %d, %s, %d\n", error, line, status_of(child));
  close(ends[0]), close(ends[1]);
  // A script, by its descriptor and by its name.
  char path[] = "/tmp/scriptXXXXXX";
  const int file = mkstemp(path);
  (void)!write(file, "#!/bin/sh -e\nexit $1\n", 21);
  fchmod(file, 0700);
  close(file);
  char* const script[] = {path, "17", NULL};
  posix_spawn(&child, path, NULL, NULL, script, environ);
  printf("script: %d\n", status_of(child));
  const int again = open(path, O_RDONLY);
  child = fork();
  if (child == 0) {
    fexecve(again, script, environ);
    _exit(99);
  }
  printf("by descriptor: %d\n", status_of(child));
  const int folder = open("/tmp", O_RDONLY | O_DIRECTORY);
  child = fork();
  if (child == 0) {
    syscall(SYS_execveat, folder, path + 5, script, environ, 0);
    _exit(98);
  }
  printf("in a folder: %d\n", status_of(child));
  unlink(path);
  close(again), close(folder);
}

struct Shared {
  pthread_mutex_t mutex;
  pthread_mutex_t robust;
  pthread_cond_t condition;
  sem_t semaphore;
  int turns, died;
};

static void share(const char* name, struct Shared* shared) {
  if (shared == NULL || shared == MAP_FAILED) {
    printf("%s: none\n", name);
    return;
  }
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&shared->robust, &attributes);
  pthread_condattr_t of_condition;
  pthread_condattr_init(&of_condition);
  pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared->condition, &of_condition);
  sem_init(&shared->semaphore, 1, 0);
  shared->turns = 0;
  const pid_t child = fork();
  const int mine = child == 0;
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&shared->mutex);
    while (shared->turns % 2 != mine) pthread_cond_wait(&shared->condition, &shared->mutex);
    ++shared->turns;
    pthread_cond_broadcast(&shared->condition);
    pthread_mutex_unlock(&shared->mutex);
  }
  if (child == 0) {
    pthread_mutex_lock(&shared->robust);
    sem_post(&shared->semaphore);
    _exit(3);  // and takes the lock along
  }
  sem_wait(&shared->semaphore);
  const int status = status_of(child);
  const int dead = pthread_mutex_lock(&shared->robust);
  pthread_mutex_consistent(&shared->robust);
  printf("%s: turns %d, child %d, owner died %d, unlocked %d\n", name, shared->turns, status,
         dead == EOWNERDEAD, pthread_mutex_unlock(&shared->robust));
}

static void test_sharing(void) {
  const size_t size = sizeof(struct Shared);
  share("anonymous", mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  char name[64];
  int number = 0, object;  // the process's number is not enough: a virtual machine's is always the same
  do {
    snprintf(name, sizeof name, "/processes%d-%d", getpid(), number++);
    object = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  } while (object < 0 && errno == EEXIST);
  (void)!ftruncate(object, (off_t)size);
  share("shm_open", mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0));
  shm_unlink(name);
  close(object);
  const int segment = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
  struct Shared* const attached = shmat(segment, NULL, 0);
  shmctl(segment, IPC_RMID, NULL);
  share("System V", attached);
  struct shmid_ds now;
  printf("attached: %d %lu\n", shmctl(segment, IPC_STAT, &now), (unsigned long)now.shm_nattch);
  printf("detached: %d\n", shmdt(attached));
  const int again = shmdt(attached);
  printf("again: %d %d\n", again, errno == EINVAL);
  const void* nowhere = shmat(segment, NULL, 0);
  printf("gone: %d %d\n", nowhere == (void*)-1, errno == EINVAL || errno == EIDRM);
}

static void* keep_lock(void* mutex) {
  pthread_mutex_lock(mutex);
  return NULL;
}

static void test_owner_death(void) {
  for (int inherit = 0; inherit < 2; ++inherit) {
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (inherit) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attributes);
    pthread_t thread;
    pthread_create(&thread, NULL, keep_lock, &mutex);
    pthread_join(thread, NULL);
    const int died = pthread_mutex_lock(&mutex), first = pthread_mutex_unlock(&mutex);
    const int lost = pthread_mutex_lock(&mutex);
    printf("owner died: %d, %d, not recoverable %d\n", died == EOWNERDEAD, first, lost == ENOTRECOVERABLE);
  }
}

static void test_process_descriptors(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const int d = (int)syscall(SYS_pidfd_open, child, 0);
  struct pollfd one = {d, POLLIN, 0};
  printf("open: %d, runs %d, close-on-exec %d\n", d >= 0, poll(&one, 1, 0) == 0, fcntl(d, F_GETFD));
  printf("stop: %ld\n", syscall(SYS_pidfd_send_signal, d, SIGTERM, NULL, 0));
  printf("ended: %d\n", poll(&one, 1, -1));
  siginfo_t info;
  const int waited = waitid((idtype_t)P_PIDFD, (id_t)d, &info, WEXITED);
  printf("waitid: %d, %d, code %d, status %d\n", waited, info.si_pid == child, info.si_code, info.si_status);
  const long late = syscall(SYS_pidfd_send_signal, d, SIGTERM, NULL, 0);
  printf("gone: %ld %d\n", late, errno == ESRCH);
  close(d);
  const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  printf("self: %d, %ld\n", self >= 0, syscall(SYS_pidfd_send_signal, self, 0, NULL, 0));
  close(self);
  const long none = syscall(SYS_pidfd_open, -5, 0);
  printf("bad: %ld %d\n", none, errno == EINVAL);
}

static void test_ranges(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec soon = {{0, 0}, {0, 1000000}};
  const int copy = dup2(timer, 60);
  close(timer);
  unsigned long long expiries = 0;
  printf("copy set: %d\n", timerfd_settime(copy, 0, &soon, NULL));
  const ssize_t got = read(copy, &expiries, sizeof expiries);
  printf("copy expired: %zd %llu\n", got, expiries);
  struct itimerspec left;
  int bad = timerfd_gettime(0, &left);
  printf("no timer: %d %d\n", bad, errno == EINVAL);
  bad = timerfd_gettime(copy + 1, &left);
  printf("nothing: %d %d\n", bad, errno == EBADF);
  for (int i = 40; i < 50; ++i) dup2(copy, i);
  printf("marked: %ld\n", syscall(SYS_close_range, 40, 44, 4));  // CLOSE_RANGE_CLOEXEC
  printf("  %d %d %d\n", fcntl(40, F_GETFD), fcntl(44, F_GETFD), fcntl(45, F_GETFD));
  printf("closed: %ld, ", syscall(SYS_close_range, 42, ~0u, 0));
  printf("%d %d %d\n", fcntl(41, F_GETFD), fcntl(42, F_GETFD), fcntl(60, F_GETFD));
  printf("works on: %d\n", timerfd_settime(41, 0, &soon, NULL));
  const ssize_t more = read(41, &expiries, sizeof expiries);
  printf("expired: %zd %llu\n", more, expiries);
  const long wrong = syscall(SYS_close_range, 9, 5, 0);
  printf("wrong range: %ld %d\n", wrong, errno == EINVAL);
  syscall(SYS_close_range, 3, ~0u, 0);
  printf("first free: %d\n", dup(0));
  close(3);
}

static void* named(void* barrier) {
  char name[16] = "";
  prctl(PR_SET_NAME, "a long name that is cut");
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  prctl(PR_GET_NAME, name);
  printf("thread: %s\n", name);
  return NULL;
}

/// How many entries a folder has beside . and .. .
static int entries_of(const char* path) {
  DIR* const folder = opendir(path);
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count - 2;
}

static void test_names(void) {
  char name[16] = "";
  prctl(PR_SET_NAME, "main one");
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, named, &barrier);
  pthread_barrier_wait(&barrier);
  prctl(PR_GET_NAME, name);
  printf("main: %s\n", name);
  const int error = pthread_getname_np(thread, name, sizeof name);
  printf("other: %d %s\n", error, name);
  printf("threads: %d\n", entries_of("/proc/self/task"));
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  printf("descriptors: %d\n", entries_of("/proc/self/fd"));
  close(timer);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  FILE* const comm = fopen("/proc/self/comm", "r");
  (void)!fgets(name, sizeof name, comm);
  fclose(comm);
  printf("comm: %s", name);
  printf("dumpable: %d, death signal %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_SET_PDEATHSIG, SIGUSR2));
  int signal = 0;
  prctl(PR_GET_PDEATHSIG, &signal);
  prctl(PR_SET_PDEATHSIG, 0);
  printf("death signal: %d, no new privileges %d\n", signal, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static void test_groups(void) {
  int ends[2];
  char byte;
  (void)!pipe(ends);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    (void)!write(ends[1], "x", 1);
    for (;;) pause();
  }
  (void)!read(ends[0], &byte, 1);
  printf("group: %d\n", getpgid(child) == child);
  printf("killed: %d\n", kill(-child, SIGKILL));
  siginfo_t info;
  const int waited = waitid(P_PGID, (id_t)child, &info, WEXITED);
  printf("waited: %d %d %d\n", waited, info.si_pid == child, info.si_status);
  close(ends[0]), close(ends[1]);
}

// However a process ends, the robust locks that it holds say so to others.
static void test_ends_of_owners(void) {
  static const char* const kEnds[] = {"exit", "SIGTERM", "a fault", "exec"};
  for (unsigned end = 0; end < 4; ++end) {
    pthread_mutex_t* const mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    const pid_t child = fork();
    if (child == 0) {
      const struct rlimit none = {0, 0};
      setrlimit(RLIMIT_CORE, &none);
      pthread_mutex_lock(mutex);
      if (end == 1) raise(SIGTERM);
      if (end == 2) *(volatile int*)16 = 1;
      if (end == 3) execl("/bin/true", "true", NULL);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("owner ended by %s: %d\n", kEnds[end], pthread_mutex_trylock(mutex) == EOWNERDEAD);
    munmap(mutex, 4096);
  }
}

// What a child of vfork closes and calls itself is not its parent's.
static void test_vfork_leaves_alone(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec soon = {{0, 0}, {0, 1000000}};
  timerfd_settime(timer, 0, &soon, NULL);
  char before[16] = {0}, after[16] = {0};
  prctl(PR_GET_NAME, before);
  const pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_NAME, "child");
    close_range(3, ~0u, 0);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  prctl(PR_GET_NAME, after);
  struct pollfd wait = {timer, POLLIN, 0};
  printf("timer of vfork's parent: %d, name kept: %d\n", poll(&wait, 1, 10000), strcmp(before, after) == 0);
  close(timer);
}

// A system call without a function's frame, which a child on the same stack would overwrite.
static inline __attribute__((always_inline)) long call_in_place(long number, unsigned long first,
                                                                unsigned long second) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
  return result;
}

// A child in its parent's memory may take some of it away.
static void test_child_unmaps_memory(void) {
  static const char* const kCalls[] = {"vfork", "clone", "clone3"};
  struct clone_args arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.flags = CLONE_VM | CLONE_VFORK;
  arguments.exit_signal = SIGCHLD;
  for (int call = 0; call < 3; ++call) {
    void* const page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const long child = call == 0   ? call_in_place(SYS_vfork, 0, 0)
                       : call == 1 ? call_in_place(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0)
                                   : call_in_place(SYS_clone3, (unsigned long)&arguments, sizeof arguments);
    if (child == 0) _exit(munmap(page, 4096) != 0);
    printf("child of %s: %d, ", kCalls[call], status_of((pid_t)child));
    printf("page gone: %d\n", access(page, F_OK) < 0 && errno == EFAULT);
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  test_ends_of_owners();
  test_vfork_leaves_alone();
  test_child_unmaps_memory();
  test_clone3();
  test_spawn();
  test_sharing();
  test_owner_death();
  test_process_descriptors();
  test_ranges();
  test_names();
  test_groups();
  return 0;
}
