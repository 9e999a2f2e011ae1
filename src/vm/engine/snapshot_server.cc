// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/snapshot_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "vm/host/host_limits.h"
#include "vm/host/host_signals.h"
#include "vm/host/reserved_descriptors.h"

namespace elision::vm {
namespace {

constexpr int kKind = SOCK_SEQPACKET | SOCK_CLOEXEC;
constexpr std::size_t kDescriptors = 4;  // the hand-over and the standard ones

/// From the snapshot to the client.
struct Answer {
  enum class Kind : int { kRefused, kBegun, kEnded } kind;
  int status;
  char why[500];
};

/// Room for the descriptors of a message.
union Ancillary {
  cmsghdr header;
  char bytes[CMSG_SPACE(kDescriptors * sizeof(int))];
};

bool address_of(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

const sockaddr* general(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

std::runtime_error failure(const std::string& path, int error) {
  return std::runtime_error("cannot serve a snapshot at '" + path + "': " + std::strerror(error));
}

msghdr message_of(iovec& part, Ancillary& ancillary) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &ancillary;
  message.msg_controllen = sizeof ancillary;
  return message;
}

bool send_descriptors(int socket, const int (&descriptors)[kDescriptors]) {
  char byte = 0;
  iovec part{&byte, 1};
  Ancillary ancillary{};
  msghdr message = message_of(part, ancillary);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/// False: the message has not these descriptors.
bool receive_descriptors(int socket, int (&descriptors)[kDescriptors]) {
  char byte = 0;
  iovec part{&byte, 1};
  Ancillary ancillary{};
  msghdr message = message_of(part, ancillary);
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_len != CMSG_LEN(sizeof descriptors)) return false;
  std::memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
  return true;
}

void send_answer(int client, const Answer& answer) {
  (void)send(client, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);  // it may have gone
}

/// Returns nothing if the snapshot's process has ended.
std::optional<Answer> receive_answer(int connection) {
  Answer answer{};
  ssize_t got = 0;
  do {
    got = recv(connection, &answer, sizeof answer, 0);
  } while (got < 0 && errno == EINTR);
  answer.why[sizeof answer.why - 1] = '\0';
  return got == sizeof answer ? std::optional(answer) : std::nullopt;
}

}  // namespace

/// Clients may connect once the file has its name, so the socket listens before.
SnapshotServer::SnapshotServer(std::string path) : path_(std::move(path)) {
  sockaddr_un address;
  const std::string early = path_ + "~";
  if (!address_of(early, address)) throw failure(path_, ENAMETOOLONG);
  const LiftedLimits lifted;
  listener_ = reserve_descriptor(socket(AF_UNIX, kKind, 0));
  if (listener_ < 0 || bind(listener_, general(address), sizeof address) != 0) throw failure(path_, errno);
  const bool good = listen(listener_, SOMAXCONN) == 0 && link(early.c_str(), path_.c_str()) == 0;
  const int error = errno;
  unlink(early.c_str());
  if (!good) throw failure(path_, error);
}

void SnapshotServer::forget_path() const { unlink(path_.c_str()); }

SnapshotServer::~SnapshotServer() {
  close_reserved_descriptor(listener_);
  close_reserved_descriptor(signals_);
  for (const auto& [process, client] : clients_) close_reserved_descriptor(client);
}

/// Waits for something to happen. Returns a request if that is one.
std::optional<CopyRequest> SnapshotServer::next_request() {
  if (signals_ < 0) {
    mask_ = get_host_mask();
    set_host_mask(kAllSignals);
    sigset_t all;
    sigfillset(&all);
    signals_ = reserve_descriptor(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  std::vector<pollfd> waits = {{listener_, POLLIN, 0}, {signals_, POLLIN, 0}};
  std::vector<pid_t> copies;
  for (const auto& [process, client] : clients_) {
    waits.push_back({client, POLLIN, 0});
    copies.push_back(process);
  }
  if (poll(waits.data(), waits.size(), -1) < 0) return std::nullopt;
  take_signals();
  answer_ended();
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (waits[i + 2].revents != 0 && clients_.contains(copies[i])) kill(-copies[i], SIGKILL);
  if ((waits[0].revents & POLLIN) == 0) return std::nullopt;
  client_ = reserve_descriptor(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
  if (client_ < 0) return std::nullopt;
  constexpr timeval kPatience{10, 0};  // a client sends its request at once
  setsockopt(client_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  CopyRequest request;
  int descriptors[kDescriptors];
  if (!receive_descriptors(client_, descriptors)) return close_reserved_descriptor(client_), std::nullopt;
  std::copy_n(descriptors + 1, 3, request.standard);
  Fallible<HandOver> run = read_hand_over(descriptors[0]);
  if (!run) {
    refuse(request, run.failure().message);
    return std::nullopt;
  }
  request.run = std::move(run.value());
  return request;
}

void SnapshotServer::take_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP && signal != SIGQUIT) continue;
    forget_path();
    die_by_host_signal(signal);
  }
}

void SnapshotServer::answer_ended() {
  int status = 0;
  for (pid_t process = 0; (process = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    const auto client = clients_.find(process);
    if (client == clients_.end()) continue;
    kill(-process, SIGKILL);  // what it has left running, or itself: stopped, it would never end
    if (WIFSTOPPED(status)) continue;
    send_answer(client->second, {Answer::Kind::kEnded, status, ""});
    close_reserved_descriptor(client->second);
    clients_.erase(client);
  }
}

/// True in the copy.
bool SnapshotServer::fork_copy(CopyRequest& request) {
  const pid_t server = getpid();
  const pid_t process = fork();
  if (process < 0) return refuse(request, std::strerror(errno));
  if (process > 0) {
    setpgid(process, process);  // the copy does it, too: either of the two may run first
    for (const int descriptor : request.standard) close(descriptor);
    clients_[process] = client_;
    send_answer(client_, {Answer::Kind::kBegun, 0, ""});
    return false;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != server) _exit(1);
  close_reserved_descriptor(client_);
  clear_host_signals();
  set_host_mask(mask_);
  return true;
}

bool SnapshotServer::refuse(CopyRequest& request, const std::string& why) {
  Answer answer{Answer::Kind::kRefused, 0, ""};
  why.copy(answer.why, sizeof answer.why - 1);
  send_answer(client_, answer);
  close_reserved_descriptor(client_);
  for (const int descriptor : request.standard) close(descriptor);
  return false;
}

std::optional<int> run_copy(const std::string& path, const HandOver& run, std::string& why) {
  sockaddr_un address;
  const OpenFile connection(socket(AF_UNIX, kKind, 0));
  if (!address_of(path, address) || connect(connection.get(), general(address), sizeof address) != 0) {
    why = "no process serves one at '" + path + "'";
    return std::nullopt;
  }
  const int handed = write_hand_over(run);
  const OpenFile file(handed);
  if (handed < 0 ||
      !send_descriptors(connection.get(), {handed, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})) {
    why = "it could not be asked";
    return std::nullopt;
  }
  std::optional<Answer> answer = receive_answer(connection.get());
  if (answer && answer->kind == Answer::Kind::kBegun) {
    answer = receive_answer(connection.get());
    return answer ? answer->status : SIGKILL;
  }
  why = answer ? answer->why : "its process has ended";
  return std::nullopt;
}

}  // namespace elision::vm
