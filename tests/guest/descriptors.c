// SPDX-License-Identifier: Apache-2.0
// Threads that wait for descriptors while others run: pipes, sockets, poll, select, epoll, eventfd, timerfd.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kLarge = 1 << 20 };

static int ends[2], pair[2];

static void* write_large(void* descriptor) {
  char* block = malloc(kLarge);
  for (int i = 0; i < kLarge; ++i) block[i] = (char)(i * 31);
  const ssize_t written = write((int)(long)descriptor, block, kLarge);
  free(block);
  return (void*)(long)written;
}

static void read_large(int from, int to, const char* name) {
  pthread_t thread;
  void* written;
  pthread_create(&thread, NULL, write_large, (void*)(long)to);
  char buffer[3000];
  long total = 0, wrong = 0;
  while (total < kLarge) {
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i) wrong += buffer[i] != (char)((total + i) * 31);
    total += got;
  }
  pthread_join(thread, &written);
  printf("%s: written %ld, read %ld, wrong %ld\n", name, (long)written, total, wrong);
}

static void* write_later(void* descriptor) {
  usleep(20000);
  const unsigned long long one = 1;
  return (void*)(long)write((int)(long)descriptor, &one, 8);
}

static pthread_t later(int descriptor) {
  pthread_t thread;
  pthread_create(&thread, NULL, write_later, (void*)(long)descriptor);
  return thread;
}

static void test_readiness(void) {
  char buffer[64];
  struct pollfd wanted = {ends[0], POLLIN, 0};
  printf("poll times out: %d\n", poll(&wanted, 1, 5));
  pthread_t thread = later(ends[1]);
  int count = poll(&wanted, 1, 10000);
  printf("poll: %d, %d\n", count, wanted.revents);
  pthread_join(thread, NULL);
  printf("read: %zd\n", read(ends[0], buffer, sizeof buffer));

  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  thread = later(ends[1]);
  count = select(ends[0] + 1, &set, NULL, NULL, NULL);
  printf("select: %d, %d\n", count, FD_ISSET(ends[0], &set) != 0);
  pthread_join(thread, NULL);
  (void)!read(ends[0], buffer, sizeof buffer);
  struct timeval little = {0, 3000};
  count = select(ends[0] + 1, &set, NULL, NULL, &little);
  printf("select times out: %d, %d\n", count, FD_ISSET(ends[0], &set) != 0);

  const int epoll = epoll_create1(0), event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
  struct epoll_event interest = {EPOLLIN, {.fd = event}}, happened[4];
  epoll_ctl(epoll, EPOLL_CTL_ADD, event, &interest);
  interest.data.fd = timer;
  epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &interest);
  thread = later(event);
  count = epoll_wait(epoll, happened, 4, -1);
  printf("epoll: %d, event %d\n", count, happened[0].data.fd == event);
  pthread_join(thread, NULL);
  (void)!read(event, buffer, 8);
  const struct itimerspec every = {{0, 4000000}, {0, 4000000}};
  timerfd_settime(timer, 0, &every, NULL);
  count = epoll_wait(epoll, happened, 4, 5000);
  unsigned long long expiries = 0;
  usleep(20000);
  const ssize_t size = read(timer, &expiries, 8);
  printf("timerfd: %d, ours %d, read %zd, expiries %d\n", count, happened[0].data.fd == timer, size,
         expiries >= 4);
  close(timer);
}

static void* serve(void* listening) {
  const int connection = accept((int)(long)listening, NULL, NULL);
  char buffer[16];
  const ssize_t got = recv(connection, buffer, 10, MSG_WAITALL);
  send(connection, buffer, (size_t)got, 0);
  close(connection);
  return (void*)(long)got;
}

static void test_network(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int listening = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  bind(listening, (struct sockaddr*)&address, size);
  listen(listening, 5);
  getsockname(listening, (struct sockaddr*)&address, &size);
  pthread_t thread;
  void* served;
  pthread_create(&thread, NULL, serve, (void*)(long)listening);
  usleep(5000);
  const int connected = connect(client, (struct sockaddr*)&address, size);
  struct iovec pieces[2] = {{"hello", 5}, {" you!", 5}};
  const ssize_t sent = writev(client, pieces, 2);
  char buffer[32] = {0};
  const ssize_t got = read(client, buffer, sizeof buffer);
  pthread_join(thread, &served);
  printf("network: %d %zd %ld %zd %s\n", connected, sent, (long)served, got, buffer);
  const struct timeval limit = {0, 2000};
  setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const ssize_t late = recv(pair[0], buffer, 1, 0);
  printf("receive times out: %zd %d\n", late, errno == EAGAIN);
}

static void* blocked_reader(void* unused) {
  char byte;
  (void)!read(ends[0], &byte, 1);
  return unused;
}

static void* nothing(void* unused) {
  usleep(200000);
  return unused;
}

int main(void) {
  pthread_t background, reader;
  void* result;
  (void)!pipe(ends);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  pthread_create(&background, NULL, nothing, NULL);
  read_large(ends[0], ends[1], "pipe");
  read_large(pair[0], pair[1], "socket");
  test_readiness();
  test_network();
  pthread_create(&reader, NULL, blocked_reader, NULL);
  usleep(5000);
  pthread_cancel(reader);
  pthread_join(reader, &result);
  printf("cancelled: %d\n", result == PTHREAD_CANCELED);
  signal(SIGPIPE, SIG_IGN);
  close(ends[0]);
  const ssize_t broken = write(ends[1], "x", 1);
  printf("broken pipe: %zd %d\n", broken, errno == EPIPE);
  pthread_join(background, NULL);
  return 0;
}
