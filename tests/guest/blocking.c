// SPDX-License-Identifier: Apache-2.0
// Calls that wait for another thread of the same process: System V semaphores and messages, POSIX message
// queues, FIFOs, file locks, several messages at once. The other thread must run meanwhile; a signal must end
// the wait.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/blockingXXXXXX";
static char path[256];
static int semaphores, messages, pair[2], ends[2], lock_file, listener;
static mqd_t queue;
static volatile int handled;
static volatile int runs;

/// What the thread under test does; returns the call's result or the negated error.
typedef long (*Action)(void);

static long result_of(long value) { return value < 0 ? -errno : value; }

static void on_signal(int signal) { (void)signal, handled = 1; }

static void* run_waiter(void* action) {
  runs = 1;
  return (void*)((Action)action)();
}

/// Until the thread probably sleeps in its call. If it does not yet, the result is the same, or `end` waits.
static void until_it_waits(void) {
  while (!runs) sched_yield();
  usleep(5000);
}

static void with(const char* name, Action wait, Action end) {
  pthread_t thread;
  void* result;
  runs = 0;
  pthread_create(&thread, NULL, run_waiter, (void*)wait);
  until_it_waits();
  const long ended = end();
  pthread_join(thread, &result);
  printf("%s: %ld, ended by %ld\n", name, (long)result, ended);
}

static void interrupted(const char* name, Action wait, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, NULL);
  pthread_t thread;
  void* result;
  runs = handled = 0;
  pthread_create(&thread, NULL, run_waiter, (void*)wait);
  // One that comes before the wait ends nothing: again and again.
  while (pthread_tryjoin_np(thread, &result) == EBUSY) {
    if (runs) pthread_kill(thread, SIGUSR1);
    usleep(1000);
  }
  printf("%s, interrupted: %ld, handled %d\n", name, (long)result, handled);
}

static long take(void) {
  struct sembuf take = {0, -1, 0};
  return result_of(semop(semaphores, &take, 1));
}
static long take_soon(void) {
  struct sembuf take = {0, -1, 0};
  const struct timespec soon = {0, 20000000};
  return result_of(semtimedop(semaphores, &take, 1, &soon));
}
static long take_two(void) {
  struct sembuf two[] = {{0, -1, 0}, {1, 0, IPC_NOWAIT}};
  return result_of(semop(semaphores, two, 2));
}
static long give(void) {
  struct sembuf give = {0, 1, 0};
  return result_of(semop(semaphores, &give, 1));
}
/// Once somebody waits: who comes to what is gone is told something else.
static long drop_semaphores(void) {
  while (semctl(semaphores, 0, GETNCNT) == 0) usleep(1000);
  return result_of(semctl(semaphores, 0, IPC_RMID));
}

struct Message {
  long type;
  char text[2000];
};
static long receive(void) {
  struct Message message;
  const long size = result_of(msgrcv(messages, &message, sizeof message.text, 7, 0));
  return size < 0 ? size : size * 1000 + message.text[0];
}
static long send_message(void) {
  struct Message message = {7, "a message"};
  return result_of(msgsnd(messages, &message, 10, 0));
}
static void fill(void) {
  struct Message message = {9, "filler"};
  while (msgsnd(messages, &message, sizeof message.text, IPC_NOWAIT) == 0) {
  }
}
static long send_large(void) {
  struct Message message = {9, "last"};
  return result_of(msgsnd(messages, &message, sizeof message.text, 0));
}
static long receive_any(void) {
  struct Message message;
  return result_of(msgrcv(messages, &message, sizeof message.text, 0, IPC_NOWAIT));
}

static long queue_receive(void) {
  char text[64];
  unsigned priority;
  const long size = result_of(mq_receive(queue, text, sizeof text, &priority));
  return size < 0 ? size : size * 100 + priority;
}
static long queue_receive_soon(void) {
  char text[64];
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += 20000000;
  if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
  return result_of(mq_timedreceive(queue, text, sizeof text, NULL, &at));
}
static long queue_send(void) { return result_of(mq_send(queue, "four", 4, 5)); }

static long open_to_read(void) {
  const int file = open(path, O_RDONLY);
  char byte = 0;
  if (file < 0) return -errno;
  const long got = read(file, &byte, 1);
  close(file);
  return got * 1000 + byte;
}
static long open_to_write(void) {
  const int file = open(path, O_WRONLY);
  const long put = write(file, "w", 1);
  close(file);
  return put;
}
static long open_only(void) { return result_of(open(path, O_RDONLY)); }

static long lock_it(void) {
  const int file = open(path, O_RDWR);
  const long result = result_of(flock(file, LOCK_EX));
  close(file);
  return result;
}
static long unlock_it(void) { return result_of(flock(lock_file, LOCK_UN)); }
static struct flock whole(short type) {
  struct flock lock;
  memset(&lock, 0, sizeof lock);
  lock.l_type = type;
  return lock;
}
static long lock_record(void) {
  const int file = open(path, O_RDWR);
  struct flock lock = whole(F_WRLCK);
  const long result = result_of(fcntl(file, F_OFD_SETLKW, &lock));
  close(file);
  return result;
}
static long unlock_record(void) {
  struct flock lock = whole(F_UNLCK);
  return result_of(fcntl(lock_file, F_OFD_SETLK, &lock));
}

static long receive_many(void) {
  char text[3][16];
  struct iovec piece[3];
  struct mmsghdr message[3];
  memset(message, 0, sizeof message);
  for (int i = 0; i < 3; ++i) {
    piece[i] = (struct iovec){text[i], sizeof text[i]};
    message[i].msg_hdr.msg_iov = &piece[i];
    message[i].msg_hdr.msg_iovlen = 1;
  }
  const long got = result_of(recvmmsg(pair[0], message, 3, 0, NULL));
  return got < 0 ? got : got * 100 + message[2].msg_len;
}
static long receive_at_least_one(void) {
  char text[16];
  struct iovec piece = {text, sizeof text};
  struct mmsghdr message[3];
  memset(message, 0, sizeof message);
  for (int i = 0; i < 3; ++i) message[i].msg_hdr.msg_iov = &piece, message[i].msg_hdr.msg_iovlen = 1;
  return result_of(recvmmsg(pair[0], message, 3, MSG_WAITFORONE, NULL));
}
static long send_one(void) { return result_of(send(pair[1], "one", 3, 0)); }
static long send_three(void) {
  long sum = 0;
  for (int i = 0; i < 3; ++i) {
    sum += send(pair[1], "three", 3 + i % 2, 0);
    usleep(2000);
  }
  return sum;
}
static long send_many(void) {
  static char text[500];
  static struct mmsghdr message[1000];
  static struct iovec piece;
  piece = (struct iovec){text, sizeof text};
  memset(message, 0, sizeof message);
  for (int i = 0; i < 1000; ++i) message[i].msg_hdr.msg_iov = &piece, message[i].msg_hdr.msg_iovlen = 1;
  const long sent = result_of(sendmmsg(pair[1], message, 1000, 0));
  return sent < 0 ? sent : sent * 1000 + message[sent - 1].msg_len;
}
static long receive_thousand(void) {
  char text[512];
  long sum = 0;
  for (int i = 0; i < 1000; ++i) sum += recv(pair[0], text, sizeof text, 0);
  return sum;
}

static long splice_user(void) {
  static char text[300000];
  struct iovec piece = {text, sizeof text};
  long sum = 0;
  while (piece.iov_len > 0) {
    const long put = vmsplice(ends[1], &piece, 1, 0);
    if (put <= 0) return -errno;
    sum += put;
    piece.iov_base = (char*)piece.iov_base + put;
    piece.iov_len -= (size_t)put;
  }
  return sum;
}
static long drain(void) {
  static char text[4096];
  long sum = 0;
  while (sum < 300000) sum += read(ends[0], text, sizeof text);
  return sum;
}

static struct sockaddr_un address;
static long connect_it(void) {
  const int one = socket(AF_UNIX, SOCK_STREAM, 0);
  const long result = result_of(connect(one, (struct sockaddr*)&address, sizeof address));
  close(one);
  return result;
}
static long accept_one(void) {
  const int one = accept(listener, NULL, NULL);
  close(one);
  return one >= 0;
}

static void test_deadlock(void) {
  int go[2], ready[2];
  char byte;
  (void)!pipe(go), (void)!pipe(ready);
  struct flock first = whole(F_WRLCK), second = whole(F_WRLCK);
  first.l_len = second.l_len = 1;
  second.l_start = 1;
  const pid_t child = fork();
  if (child == 0) {
    fcntl(lock_file, F_SETLKW, &second);
    (void)!write(ready[1], "r", 1);
    (void)!read(go[0], &byte, 1);
    _exit(fcntl(lock_file, F_SETLKW, &first) == 0 ? 1 : errno == EDEADLK ? 2 : 3);
  }
  fcntl(lock_file, F_SETLKW, &first);
  (void)!read(ready[0], &byte, 1);
  (void)!write(go[1], "g", 1);
  const int own = fcntl(lock_file, F_SETLKW, &second) == 0 ? 1 : errno == EDEADLK ? 2 : 3;
  struct flock none = whole(F_UNLCK);
  fcntl(lock_file, F_SETLK, &none);
  int status;
  waitpid(child, &status, 0);
  // Who comes second is told; which of the two that is nobody knows.
  printf("deadlock: %d\n", own + WEXITSTATUS(status));
}

static long wait_and_fork(void) {
  const pid_t child = fork();
  if (child == 0) {
    struct sembuf nothing = {1, 0, 0};
    _exit(semop(semaphores, &nothing, 1) == 0 ? 7 : 8);  // another call while the parent's thread waits
  }
  int status;
  waitpid(child, &status, 0);
  return give() == 0 ? WEXITSTATUS(status) : -1;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  (void)!mkdtemp(folder);
  snprintf(path, sizeof path, "%s/fifo", folder);
  semaphores = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
  messages = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  const union semun {
    int value;
  } none = {0};
  semctl(semaphores, 0, SETVAL, none), semctl(semaphores, 1, SETVAL, none);

  with("semop", take, give);
  with("semop of two", take_two, give);
  with("semop and fork", take, wait_and_fork);
  printf("semtimedop: %ld\n", take_soon());
  interrupted("semop", take, SA_RESTART);
  interrupted("semtimedop", take, 0);
  with("semop, removed", take, drop_semaphores);

  with("msgrcv", receive, send_message);
  interrupted("msgrcv", receive, SA_RESTART);
  fill();
  with("msgsnd", send_large, receive_any);
  fill();
  interrupted("msgsnd", send_large, 0);
  msgctl(messages, IPC_RMID, NULL);

  char name[64];
  struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 64};
  int number = 0;  // the process's is not enough: a virtual machine's is always the same
  do {
    snprintf(name, sizeof name, "/blocking%d-%d", (int)getpid(), number++);
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  } while (queue == (mqd_t)-1 && errno == EEXIST);
  if (queue == (mqd_t)-1) perror("mq_open");
  mq_unlink(name);
  with("mq_receive", queue_receive, queue_send);
  queue_send(), queue_send();
  with("mq_send", queue_send, queue_receive);
  queue_receive(), queue_receive();
  printf("mq_timedreceive: %ld\n", queue_receive_soon());
  interrupted("mq_receive", queue_receive, 0);

  mkfifo(path, 0600);
  with("FIFO to read", open_to_read, open_to_write);
  with("FIFO to write", open_to_write, open_to_read);
  interrupted("FIFO", open_only, 0);
  unlink(path);

  snprintf(path, sizeof path, "%s/file", folder);
  lock_file = open(path, O_RDWR | O_CREAT, 0600);
  flock(lock_file, LOCK_EX);
  with("flock", lock_it, unlock_it);
  flock(lock_file, LOCK_EX);
  interrupted("flock", lock_it, 0);
  flock(lock_file, LOCK_UN);
  struct flock lock = whole(F_WRLCK);
  fcntl(lock_file, F_OFD_SETLK, &lock);
  with("record lock", lock_record, unlock_record);
  fcntl(lock_file, F_OFD_SETLK, &lock);
  interrupted("record lock", lock_record, 0);
  unlock_record();
  test_deadlock();

  (void)!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
  with("recvmmsg", receive_many, send_three);
  with("recvmmsg for one", receive_at_least_one, send_one);
  interrupted("recvmmsg", receive_many, 0);
  with("sendmmsg", send_many, receive_thousand);
  (void)!pipe(ends);
  with("vmsplice", splice_user, drain);

  snprintf(path, sizeof path, "%s/socket", folder);
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path);
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  bind(listener, (struct sockaddr*)&address, sizeof address);
  listen(listener, 0);
  printf("connect: %ld\n", connect_it());
  with("connect", connect_it, accept_one);
  interrupted("connect", connect_it, 0);

  unlink(path);
  snprintf(path, sizeof path, "%s/file", folder);
  unlink(path);
  rmdir(folder);
  return 0;
}
