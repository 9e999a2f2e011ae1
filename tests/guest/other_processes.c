// SPDX-License-Identifier: Apache-2.0
// What /proc says about other processes: a child with several threads, a child that executes another program,
// and a parent. The child waits at each step until the parent has looked.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[1 << 20];

/// Length, or negative.
static long slurp(const char* path) {
  text[0] = 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long total = 0;
  for (ssize_t got; (got = read(file, text + total, sizeof text - 1 - (size_t)total)) > 0;) total += got;
  text[total] = 0;
  close(file);
  return total;
}

static long slurp_of(pid_t process, const char* name) {
  char path[128];
  snprintf(path, sizeof path, "/proc/%d/%s", process, name);
  return slurp(path);
}

/// The name and state in a line of `stat`, whose number must be `number`.
static void show_stat(const char* what, pid_t process, const char* name, int number, int parent) {
  char comm[64] = "", state = '?';
  int shown = 0, shown_parent = 0;
  slurp_of(process, name);
  sscanf(text, "%d (%63[^)]) %c %d", &shown, comm, &state, &shown_parent);
  printf("%s: (%s) %c, number %d, parent %d\n", what, comm, state, shown == number, shown_parent == parent);
}

static void show_line(const char* what, pid_t process, const char* name, const char* key) {
  slurp_of(process, name);
  const char* at = strstr(text, key);
  printf("%s: %.*s\n", what, at != NULL ? (int)strcspn(at, "\n") : 4, at != NULL ? at : "none");
}

static int compare_numbers(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

/// The numbers in a process's folder of threads, in order.
static int threads_of(pid_t process, int* numbers, int room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR* const folder = opendir(path);
  int count = 0;
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] != '.' && count < room) numbers[count++] = atoi(entry->d_name);
  if (folder != NULL) closedir(folder);
  qsort(numbers, (size_t)count, sizeof *numbers, compare_numbers);
  return count;
}

static char state_of(pid_t process, int thread) {
  char name[64], state = '?';
  snprintf(name, sizeof name, "task/%d/stat", thread);
  slurp_of(process, name);
  sscanf(text, "%*d (%*[^)]) %c", &state);
  return state;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static char secret[] = "in the child alone";
static int numbers_of_threads[2];
static int to_parent[2], to_child[2];

static void tell(void) {
  if (write(to_parent[1], "x", 1) != 1) _exit(90);
}
static void await(int pipe) {
  char byte;
  if (read(pipe, &byte, 1) != 1) _exit(91);
}

static void let_go_on(void) {
  if (write(to_child[1], "x", 1) != 1) exit(1);
}

static void* spin(void* unused) {
  numbers_of_threads[0] = (int)syscall(SYS_gettid);
  prctl(PR_SET_NAME, "spins");
  tell();
  while (!stop) continue;
  return unused;
}

static void* wait_at_mutex(void* unused) {
  numbers_of_threads[1] = (int)syscall(SYS_gettid);
  prctl(PR_SET_NAME, "waits");
  tell();
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void limit_cores(rlim_t bytes) {
  struct rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
}

static void be_child(void) {
  limit_cores(4096);
  prctl(PR_SET_NAME, "a child");
  strcpy(secret, "only in the child");
  pthread_t spinning, waiting;
  pthread_mutex_lock(&mutex);
  pthread_create(&spinning, NULL, spin, NULL);
  pthread_create(&waiting, NULL, wait_at_mutex, NULL);
  await(to_child[0]);
  stop = 1;
  pthread_join(spinning, NULL);
  tell();
  await(to_child[0]);
  pthread_mutex_unlock(&mutex);
  pthread_join(waiting, NULL);
  tell();
  for (;;) pause();
}

/// Whether the child's memory at the same address is what `process_vm_readv` reads.
static void show_memory(const char* what, int number) {
  char copy[sizeof secret] = "";
  const struct iovec ours = {copy, sizeof copy}, theirs = {secret, sizeof secret};
  const ssize_t got = process_vm_readv(number, &ours, 1, &theirs, 1, 0);
  printf("%s: %zd '%s'\n", what, got, copy);
  const struct iovec nothing = {(void*)16, 8};
  printf("%s, bad: %d\n", what, process_vm_readv(number, &ours, 1, &nothing, 1, 0) == -1 && errno == EFAULT);
}

static void show_maps(const char* what, pid_t process, const char* program) {
  slurp_of(process, "maps");
  int code = 0, stack = 0, heap = 0, others = 0;
  for (char* line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char permissions[8] = "";
    sscanf(line, "%*x-%*x %7s", permissions);
    code |= strcmp(permissions, "r-xp") == 0 && strstr(line, program) != NULL;
    stack |= strstr(line, "[stack]") != NULL;
    heap |= strstr(line, "[heap]") != NULL;
    others |= strstr(line, "elision") != NULL && strstr(line, program) == NULL;
  }
  printf("%s: code %d, stack %d, heap %d, others %d\n", what, code, stack, heap, others);
}

static void show_common(const char* what, pid_t process, const char* program) {
  char path[64], link[PATH_MAX] = "";
  struct stat status;
  printf("%s\n", what);
  snprintf(path, sizeof path, "/proc/%d/exe", process);
  printf("exe: %d\n", readlink(path, link, sizeof link - 1) > 0 && strcmp(link, program) == 0);
  printf("behind it: %d\n", stat(path, &status) == 0 && S_ISREG(status.st_mode));
  snprintf(path, sizeof path, "/proc/%d", process);
  printf("folder: %d\n", lstat(path, &status) == 0 && S_ISDIR(status.st_mode));
  show_maps("maps", process, program);
  const long all = slurp_of(process, "environ");
  printf("environ: %d\n", all > 0 && strlen(environ[0]) < (size_t)all && strcmp(text, environ[0]) == 0);
  printf("auxv: %d\n", slurp_of(process, "auxv") > 16 && slurp_of(process, "auxv") % 16 == 0);
  show_line("limit", process, "limits", "Max core file size");
}

/// Waits until the thread sleeps: it has said that it will.
static void await_sleep(pid_t process, int thread) {
  while (state_of(process, thread) != 'S') sched_yield();
}

static void test_threads(const char* program) {
  const pid_t child = fork();
  if (child == 0) be_child();
  await(to_parent[0]);
  await(to_parent[0]);
  int numbers[8] = {0};
  printf("threads: %d\n", threads_of(child, numbers, 8));
  printf("first: %d\n", numbers[0] == child);
  const int spinning = numbers[1], waiting = numbers[2];
  await_sleep(child, waiting);
  await_sleep(child, child);
  printf("spins: %c\n", state_of(child, spinning));
  char name[64];
  show_stat("stat", child, "stat", child, getpid());
  snprintf(name, sizeof name, "task/%d/stat", spinning);
  show_stat("of a thread", child, name, spinning, getpid());
  snprintf(name, sizeof name, "task/%d/comm", waiting);
  show_line("its name", child, name, "");
  show_line("name", child, "comm", "");
  show_line("count", child, "status", "Threads:");
  show_line("state", child, "status", "State:");
  snprintf(name, sizeof name, "task/%d/status", waiting);
  show_line("its state", child, name, "State:");
  show_line("its name", child, name, "Name:");
  slurp_of(child, name);
  int tgid = 0, pid = 0, parent = 0;
  sscanf(strstr(text, "Tgid:"), "Tgid: %d", &tgid);
  sscanf(strstr(text, "\nPid:"), " Pid: %d", &pid);
  sscanf(strstr(text, "PPid:"), "PPid: %d", &parent);
  printf("numbers: %d %d %d\n", tgid == child, pid == waiting, parent == getpid());
  show_line("by a thread's number", waiting, "comm", "");
  printf("no such thread: %d\n", slurp_of(child, "task/1/comm") < 0);
  show_common("a child", child, program);
  show_memory("memory", child);
  show_memory("by a thread", waiting);

  let_go_on();
  await(to_parent[0]);
  printf("later: %d", threads_of(child, numbers, 8));
  printf(" %d\n", numbers[1] == waiting);
  let_go_on();
  await(to_parent[0]);
  await_sleep(child, child);
  printf("at last: %d\n", threads_of(child, numbers, 8));
  show_line("count", child, "status", "Threads:");

  kill(child, SIGSTOP);
  waitpid(child, NULL, WUNTRACED);
  show_stat("stopped", child, "stat", child, getpid());
  kill(child, SIGCONT);
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
  printf("killed: %c\n", state_of(child, child));
  waitpid(child, NULL, 0);
  printf("gone: %d\n", slurp_of(child, "stat") < 0);
}

/// `program` again, as another process.
static void test_program(char* program) {
  const pid_t child = fork();
  if (child == 0) {
    char number[16];
    snprintf(number, sizeof number, "%d", to_parent[1]);
    char* const words[] = {program, "two words", number, NULL};
    execv(program, words);
    _exit(92);
  }
  await(to_parent[0]);
  await_sleep(child, child);
  show_common("another program", child, program);
  const long size = slurp_of(child, "cmdline");
  printf("cmdline: %d\n",
         size > (long)strlen(program) + 12 && strcmp(text + strlen(program) + 1, "two words") == 0);
  show_line("name", child, "comm", "");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void test_parent(const char* program) {
  fflush(stdout);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    show_common("the parent", parent, program);
    show_line("name", parent, "comm", "");
    int numbers[8];
    printf("threads: %d", threads_of(parent, numbers, 8));
    printf(" %d\n", numbers[0] == parent);
    await_sleep(parent, parent);
    show_stat("stat", parent, "stat", parent, atoi(getenv("PARENT")));
    show_memory("memory", parent);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(int argc, char** argv) {
  char program[PATH_MAX], number[16];
  if (argc == 3) {  // test_program
    if (write(atoi(argv[2]), "x", 1) != 1) return 1;
    for (;;) pause();
  }
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  free(malloc(100));
  limit_cores(8192);
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  program[size > 0 ? size : 0] = 0;
  snprintf(number, sizeof number, "%d", getppid());
  setenv("PARENT", number, 1);
  if (pipe(to_parent) != 0 || pipe(to_child) != 0) return 1;
  test_threads(program);
  test_program(program);
  test_parent(program);
  return 0;
}
