// SPDX-License-Identifier: Apache-2.0
// Ways to wait: epoll in all its manners, descriptors sent over sockets, TCP, timers and counters as
// descriptors, futexes beyond wait and wake.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void* write_later(void* text) {
  usleep(2000);
  (void)!write(ends[1], text, strlen(text));
  return NULL;
}

static pthread_t later(const char* text) {
  pthread_t thread;
  pthread_create(&thread, NULL, write_later, (void*)text);
  return thread;
}

static int wait_on(int epoll, int milliseconds) {
  struct epoll_event event = {0};
  const int count = epoll_wait(epoll, &event, 1, milliseconds);
  return count == 1 ? (int)event.events * 100 + (int)event.data.u32 : -count;
}

static void test_epoll(void) {
  char byte;
  (void)!pipe(ends);
  const int inner = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = 1};
  epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &event);
  event.events = EPOLLIN, event.data.u32 = 2;
  epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
  pthread_t thread = later("ab");
  const int nested = wait_on(outer, -1);
  printf("nested: %d\n", nested);
  pthread_join(thread, NULL);
  const int first = wait_on(inner, -1), second = wait_on(inner, 0);
  printf("edge: %d, %d\n", first, second);
  (void)!read(ends[0], &byte, 1);
  const int still = wait_on(inner, 5);
  printf("no new edge: %d\n", still);
  thread = later("c");
  const int again = wait_on(inner, -1);
  printf("new edge: %d\n", again);
  pthread_join(thread, NULL);
  event.events = EPOLLIN | EPOLLONESHOT, event.data.u32 = 3;
  epoll_ctl(inner, EPOLL_CTL_MOD, ends[0], &event);
  const int once = wait_on(inner, -1), twice = wait_on(inner, 3);
  epoll_ctl(inner, EPOLL_CTL_MOD, ends[0], &event);
  const int rearmed = wait_on(inner, -1);
  printf("oneshot: %d, %d, %d\n", once, twice, rearmed);
  const int loop = epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event);
  printf("a ring: %d %d\n", loop, errno == ELOOP);
  close(ends[1]);
  epoll_ctl(inner, EPOLL_CTL_MOD, ends[0], &event);
  char rest[8];
  (void)!read(ends[0], rest, sizeof rest);
  const int hang_up = wait_on(inner, -1);
  printf("hang-up: %d\n", hang_up);
  close(ends[0]), close(inner), close(outer);
}

static void test_rights(void) {
  int pair[2];
  (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  (void)!pipe(ends);
  char control[CMSG_SPACE(sizeof(int))], byte = 'x';
  struct iovec piece = {&byte, 1};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &piece, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  const pid_t child = fork();
  if (child == 0) {
    struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &ends[0], sizeof(int));
    (void)!write(ends[1], "through", 7);
    _exit(sendmsg(pair[1], &message, 0) == 1 ? 0 : 1);
  }
  close(ends[1]);
  const ssize_t got = recvmsg(pair[0], &message, MSG_CMSG_CLOEXEC);
  int passed = -1;
  memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof passed);
  char text[16] = "";
  const ssize_t size = read(passed, text, sizeof text);
  printf("passed: %zd, %zd %s, close-on-exec %d\n", got, size, text, fcntl(passed, F_GETFD));
  waitpid(child, NULL, 0);
  close(passed), close(ends[0]), close(pair[0]), close(pair[1]);
}

static struct sockaddr_in address;

static void* talk(void* unused) {
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  char text[8] = "";
  if (connect(one, (struct sockaddr*)&address, sizeof address) != 0) return unused;
  (void)!send(one, "ping", 4, 0);
  const ssize_t got = recv(one, text, 4, MSG_WAITALL);
  printf("client: %zd %s\n", got, text);
  shutdown(one, SHUT_WR);
  const ssize_t end = recv(one, text, 1, 0);
  printf("client, end: %zd\n", end);
  close(one);
  return unused;
}

static void test_tcp(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener, (struct sockaddr*)&address, size);
  getsockname(listener, (struct sockaddr*)&address, &size);
  listen(listener, 4);
  pthread_t thread;
  pthread_create(&thread, NULL, talk, NULL);
  const int one = accept(listener, NULL, NULL);
  char text[8] = "";
  const ssize_t got = recv(one, text, sizeof text, 0);
  printf("server: %zd %s\n", got, text);
  (void)!send(one, "po", 2, 0);
  usleep(2000);
  (void)!send(one, "ng", 2, 0);
  const ssize_t end = recv(one, text, 1, 0);
  printf("server, end: %zd\n", end);
  close(one);
  pthread_join(thread, NULL);
  const struct timeval limit = {0, 5000};
  setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const int nobody = accept(listener, NULL, NULL);
  printf("nobody: %d %d\n", nobody, errno == EAGAIN);
  close(listener);
}

static void test_timers(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct itimerspec setting;
  memset(&setting, 0, sizeof setting);
  unsigned long long expiries = 0;
  clock_gettime(CLOCK_MONOTONIC, &setting.it_value);
  setting.it_value.tv_sec += 1000;
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
  const ssize_t early = read(timer, &expiries, 8);
  printf("early: %zd %d\n", early, errno == EAGAIN);
  clock_gettime(CLOCK_MONOTONIC, &setting.it_value);
  setting.it_value.tv_nsec += 5000000;
  if (setting.it_value.tv_nsec >= 1000000000)
    setting.it_value.tv_sec++, setting.it_value.tv_nsec -= 1000000000;
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
  struct pollfd one = {timer, POLLIN, 0};
  const int ready = poll(&one, 1, -1);
  const ssize_t got = read(timer, &expiries, 8);
  printf("absolute: %d, %zd, %llu\n", ready, got, expiries);
  setting.it_value = (struct timespec){0, 1};
  setting.it_interval = (struct timespec){0, 1000000};
  timerfd_settime(timer, 0, &setting, NULL);
  usleep(5500);
  const ssize_t many = read(timer, &expiries, 8);
  printf("interval: %zd, %d\n", many, expiries >= 5);
  struct itimerspec left;
  timerfd_gettime(timer, &left);
  printf("left: %d, %ld\n", left.it_value.tv_nsec <= 1000000, left.it_interval.tv_nsec);
  const int bad = timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0);
  printf("CPU clock: %d %d\n", bad, errno == EINVAL);
  close(timer);

  const int counter = eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK);
  unsigned long long value = 0;
  long sum = 0;
  while (read(counter, &value, 8) == 8) sum += (long)value;
  printf("semaphore: %ld\n", sum);
  value = ~0ull - 1;
  const ssize_t full = write(counter, &value, 8), more = write(counter, &(unsigned long long){1}, 8);
  printf("full: %zd, %zd %d\n", full, more, errno == EAGAIN);
  close(counter);
}

static long futex(int* word, int operation, int value, const void* timeout, int* second, int third) {
  const long result = syscall(SYS_futex, word, operation, value, timeout, second, third);
  return result < 0 ? -errno : result;
}

static int word, other, locked;

static void* wait_word(void* unused) {
  while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  return unused;
}

static void* hold(void* gate) {
  futex(&locked, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  pthread_barrier_wait(gate);
  pthread_barrier_wait(gate);  // the other has tried
  usleep(3000);
  const long result = futex(&locked, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  return (void*)result;
}

static void test_futexes(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_word, NULL);
  usleep(2000);
  other = 5;
  // Adds 3 to the second word, wakes one at the first, and one at the second if that was 5.
  __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
  const long woken = futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &other,
                           (int)FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 5));
  pthread_join(thread, NULL);
  printf("wake and add: %d, %d\n", woken <= 1, other);
  pthread_barrier_t gate;
  pthread_barrier_init(&gate, NULL, 2);
  pthread_create(&thread, NULL, hold, &gate);
  pthread_barrier_wait(&gate);
  printf("try: %ld\n", futex(&locked, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  printf("not the owner: %ld\n", futex(&locked, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  pthread_barrier_wait(&gate);
  printf("locked: %ld\n", futex(&locked, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  printf("owner: %d\n", (locked & FUTEX_TID_MASK) == syscall(SYS_gettid));
  printf("again: %ld\n", futex(&locked, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
  void* result;
  pthread_join(thread, &result);
  const struct timespec past = {1, 0};
  printf("unlocked: %ld, by the other %ld\n", futex(&locked, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0),
         (long)result);
  printf("past: %ld\n",
         futex(&other, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, other, &past, NULL, -1));
  printf("no bits: %ld\n", futex(&other, FUTEX_WAIT_BITSET_PRIVATE, other, NULL, NULL, 0));
  printf("changed: %ld\n", futex(&other, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &word, 99));
  printf("odd address: %ld\n", futex((int*)((char*)&other + 1), FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  test_epoll();
  test_rights();
  test_tcp();
  test_timers();
  test_futexes();
  return 0;
}
