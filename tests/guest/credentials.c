// SPDX-License-Identifier: Apache-2.0
// Credentials of threads: the C library's calls change those of the process, raw ones those of one thread.
// Needs root: ends with 77 without.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 4 };

static pthread_barrier_t barrier;
static char seen[kThreads + 1][256];

/// Users, groups and effective capabilities of the calling thread.
static void look(char* into) {
  unsigned r, e, s, gr, ge, gs;
  gid_t groups[8];
  syscall(SYS_getresuid, &r, &e, &s);
  syscall(SYS_getresgid, &gr, &ge, &gs);
  const long count = syscall(SYS_getgroups, 8, groups);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  syscall(SYS_capget, &header, data);
  int size = sprintf(into, "%u %u %u, %u %u %u, file %ld %ld, groups", r, e, s, gr, ge, gs,
                     syscall(SYS_setfsuid, -1), syscall(SYS_setfsgid, -1));
  for (long i = 0; i < count; ++i) size += sprintf(into + size, " %u", groups[i]);
  sprintf(into + size, ", privileged %d, keeps %d", data[0].effective != 0, prctl(PR_GET_KEEPCAPS));
}

static void* looks_at_each_step(void* argument) {
  for (;;) {
    pthread_barrier_wait(&barrier);  // the step has been made
    look(argument);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

/// All threads look: what the first sees, and whether the others agree.
static void show(const char* step, long result) {
  pthread_barrier_wait(&barrier);
  look(seen[kThreads]);
  pthread_barrier_wait(&barrier);
  int agree = 0;
  for (int i = 0; i < kThreads; ++i) agree += strcmp(seen[i], seen[kThreads]) == 0;
  printf("%s: %ld; %s; %d agree\n", step, result, seen[kThreads], agree);
}

/// Steps that work or not depending on what the one before has done: made twice, they end differently.
static void broadcast(void) {
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, looks_at_each_step, seen[i]);
  const gid_t groups[] = {11, 12, 13};
  show("setgroups", setgroups(3, groups));
  show("setresgid", setresgid(21, 22, 23));
  show("setegid", setegid(23));
  show("setresuid", setresuid(31, 0, 33));
  show("swap", setresuid(-1, 31, 0));  // the effective one becomes the saved one
  show("swap back", setreuid(-1, 0));
  show("setreuid", setreuid(0, 33));
  show("setuid without rights", setuid(0));  // the effective one alone: with rights it is all three
  show("setuid", setuid(41));
  show("no way back", setuid(0));
  show("setgid", setgid(5));
}

static int run_in_child(void (*what)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    what();
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

static char folder[] = "/tmp/credentials-XXXXXX";

static int owner_of_new_file(const char* name) {
  char path[128];
  struct stat status;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_CREAT | O_RDWR, 0644);
  const int found = fstat(file, &status);
  close(file);
  return file < 0 || found != 0 ? -1 : (int)status.st_uid;
}

/// One thread has others' files, signals and children; the first stays who it is.
static void* alone_as_other(void* unused) {
  (void)unused;
  char text[256];
  printf("raw setresuid %ld\n", syscall(SYS_setresuid, 51, 51, 51));
  look(text);
  printf("thread: %s\n", text);
  printf("its file belongs to %d\n", owner_of_new_file("its"));
  printf("kill of init %d\n", syscall(SYS_kill, 1, 0) == -1 && errno == EPERM);
  printf("may not read %d\n", open("/etc/shadow", O_RDONLY) == -1 && errno == EACCES);
  printf("no way back %d\n", syscall(SYS_setresuid, 0, 0, 0) == -1 && errno == EPERM);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    look(text);
    printf("its child: %s\n", text);
    fflush(stdout);
    _exit(0);
  }
  int status;
  printf("waited for %d\n", waitpid(child, &status, __WNOTHREAD) == child);
  const pid_t next = fork();
  if (next == 0) _exit(0);
  siginfo_t change;
  printf("and by waitid %d\n", waitid(P_PID, (id_t)next, &change, WEXITED | __WNOTHREAD));
  char* const arguments[] = {"id", "-u", NULL};
  pid_t spawned = 0;
  const int result = posix_spawn(&spawned, "/usr/bin/id", NULL, NULL, arguments, NULL);
  waitpid(spawned, &status, 0);
  printf("spawn %d\n", result);
  return NULL;
}

static void raw_call(void) {
  char text[256];
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, alone_as_other, NULL);
  pthread_barrier_wait(&barrier);
  look(text);
  printf("first: %s\n", text);
  printf("first's file belongs to %d\n", owner_of_new_file("first's"));
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  look(text);
  printf("first afterwards: %s\n", text);
}

static char fifo[64], program[64];
static int semaphore, segment;

static const char* refusal(long result) { return result == -1 ? strerror(errno) : "none"; }

/// What belongs to the first thread is refused, also where a call would wait or looks at a file first.
static void* refused_as_other(void* unused) {
  (void)unused;
  printf("raw setresuid %ld\n", syscall(SYS_setresuid, 51, 51, 51));
  printf("open of a FIFO: %s\n", refusal(open(fifo, O_RDONLY)));
  struct sembuf take = {0, -1, 0};
  const struct timespec soon = {0, 1000000};
  printf("semtimedop: %s\n", refusal(semtimedop(semaphore, &take, 1, &soon)));
  take.sem_flg = IPC_NOWAIT;
  printf("semop: %s\n", refusal(semop(semaphore, &take, 1)));
  printf("shmat: %s\n", refusal((long)shmat(segment, NULL, 0)));
  struct rlimit limit;
  printf("prlimit of the parent: %s\n", refusal(prlimit(getppid(), RLIMIT_CORE, NULL, &limit)));
  const struct {
    unsigned size, policy;
    unsigned long flags;
    int nice;
    unsigned priority;
    unsigned long runtime, deadline, period;
  } sooner = {.size = 48, .nice = -5};
  printf("sched_setattr: %s\n", refusal(syscall(SYS_sched_setattr, 0, &sooner, 0)));
  char* const arguments[] = {program, NULL};
  printf("execve: %s\n", refusal(execv(program, arguments)));
  return NULL;
}

static void refusals(void) {
  snprintf(fifo, sizeof fifo, "%s/fifo", folder);
  snprintf(program, sizeof program, "%s/program", folder);
  mkfifo(fifo, 0600);
  const int both_ends = open(fifo, O_RDWR);  // so that nobody waits who may open it
  close(open(program, O_CREAT | O_WRONLY, 0700));
  semaphore = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
  segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  pthread_t thread;
  pthread_create(&thread, NULL, refused_as_other, NULL);
  pthread_join(thread, NULL);
  printf("the first is refused: %s\n", refusal(open(fifo, O_RDONLY)));
  close(both_ends);
  semctl(semaphore, 0, IPC_RMID);
  shmctl(segment, IPC_RMID, NULL);
}

/// execve makes the calling thread's credentials the program's.
static void* execs(void* unused) {
  (void)unused;
  syscall(SYS_setresuid, 61, 61, 61);
  execl("/usr/bin/id", "id", "-u", (char*)NULL);
  return NULL;
}

static void exec_from_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, execs, NULL);
  pthread_join(thread, NULL);
}

static int becomes_other(void* user) {
  syscall(SYS_setresuid, 51, 51, 51);
  *(long*)user = syscall(SYS_getuid);
  return 0;
}

/// A process that shares the memory alone has credentials of its own, too.
static void beside_a_companion(void) {
  static char stack[64 * 1024] __attribute__((aligned(16)));
  long user = -1;
  int status;
  const pid_t pid = clone(becomes_other, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES, &user);
  printf("companion ended %d\n", waitpid(pid, &status, __WALL) == pid);
  printf("companion %ld, its parent %ld\n", user, syscall(SYS_getuid));
}

int main(void) {
  if (geteuid() != 0) {
    puts("skipped: needs root");
    return 77;
  }
  if (mkdtemp(folder) == NULL || chmod(folder, 0777) != 0) return 1;
  printf("broadcast ended with %d\n", run_in_child(broadcast));
  printf("raw calls ended with %d\n", run_in_child(raw_call));
  printf("refusals ended with %d\n", run_in_child(refusals));
  printf("exec ended with %d\n", run_in_child(exec_from_thread));
  printf("companion ended with %d\n", run_in_child(beside_a_companion));
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}
