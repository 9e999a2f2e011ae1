// SPDX-License-Identifier: Apache-2.0
// One end of a connection: TCP's part of the packet stack, as BSD divides it into sections.
//
// A send buffer has packets that the peer has not acknowledged. A receive buffer has packets that the
// program has not read. A thread makes packets, computes their checksums and copies their bytes outside of
// sections. Sections, under the socket's lock, link and count packets:
//
//   connect  sends the first packet of the handshake, and waits for the second
//   send     waits for room; then appends packets to the send buffer, and puts copies of those that the
//            peer's window allows on the network
//   receive  waits for data; takes packets out of the receive buffer, and reports the larger window, once
//            it has grown by two packets or half of the buffer
//   input    by the network's thread, for each packet: completes the handshake; takes acknowledged packets
//            out of the send buffer and wakes the sender; appends data to the receive buffer, wakes the
//            receiver, and acknowledges every second packet; sends what the window allows now
//
// The network loses nothing, so there is no timer and nothing is sent again. Small sends are not collected
// (TCP_NODELAY). Connections stay open to the end. Buffers have the sizes of FreeBSD 7. If a packet is
// lost, doubled or damaged, the program ends with one line "LOST ..." and exit code 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "network/locking.h"
#include "network/mbuf.h"
#include "network/queues.h"

namespace workloads::network {

inline constexpr std::uint32_t kSendBytes = 32768, kReceiveBytes = 65536;

class Socket {
 public:
  /// `lock`: the socket's own lock or its host's. Packets have at most `segment_bytes` of data and go to
  /// `network`. A connection that the peer opens goes to `listener` as soon as it is complete.
  Socket(std::uint32_t connection, std::uint32_t segment_bytes, Mutex& lock, Listener& listener,
         InterfaceQueue& network)
      : connection_(connection),
        segment_bytes_(segment_bytes),
        lock_(lock),
        listener_(listener),
        network_(network) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // For one thread at a time:

  void connect(Maker& maker);
  void send(Maker& maker, const unsigned char* data, std::size_t bytes);
  /// Reads exactly that many bytes, in pieces of at most `piece`.
  void receive(Maker& maker, unsigned char* data, std::size_t bytes, std::size_t piece);

  /// For the network's thread: a packet has arrived.
  void input(Maker& maker, Mbuf* packet);

  // After all threads have ended:

  std::uint64_t packets() const { return packets_; }
  /// Returns whether all bytes that `from` sent have arrived here.
  bool has_all_of(const Socket& from) const { return received_ == from.appended_; }

 private:
  enum class State { kClosed, kConnecting, kAccepting, kOpen };

  std::uint64_t room() const { return kSendBytes - (appended_ - acknowledged_); }
  std::uint64_t window() const { return kReceiveBytes - (received_ - read_); }

  std::size_t wait_for_room(std::size_t wanted);
  PacketQueue make_packets(Maker& maker, const unsigned char* data, std::size_t bytes) const;
  PacketQueue take(Maker& maker, std::size_t most);
  void append(Mbuf* packet);
  void send_allowed(Maker& maker);
  void transmit(Mbuf* packet, bool opens = false);
  void shake_hands(Maker& maker, const Header& header);
  PacketQueue take_acknowledged(const Header& header);
  void report_window(Maker& maker);

  const std::uint32_t connection_, segment_bytes_;
  Mutex& lock_;
  Listener& listener_;
  InterfaceQueue& network_;
  Condition readable_, writable_;

  // For sending. Numbers count bytes since the start.
  alignas(128) PacketQueue to_send_;  // not acknowledged; from unsent_ on not sent
  Mbuf* unsent_ = nullptr;
  std::uint64_t appended_ = 0, acknowledged_ = 0, allowed_ = kReceiveBytes;
  std::uint64_t packets_ = 0;
  State state_ = State::kClosed;

  // Receiving.
  alignas(128) PacketQueue to_read_;
  std::uint64_t received_ = 0, read_ = 0, reported_ = kReceiveBytes;
  unsigned unacknowledged_ = 0;  // packets

  // Only the reading thread uses these: packets that it took out of the buffer, and the bytes of the first
  // packet that it has read.
  alignas(128) PacketQueue reading_;
  std::uint32_t first_read_ = 0;
};

inline void Socket::connect(Maker& maker) {
  const std::lock_guard lock(lock_);
  state_ = State::kConnecting;
  transmit(maker.make(), true);
  writable_.wait_until(lock_, [&] { return state_ == State::kOpen; });
}

inline void Socket::send(Maker& maker, const unsigned char* data, std::size_t bytes) {
  while (bytes != 0) {
    const std::size_t now = std::min(bytes, wait_for_room(std::min<std::size_t>(bytes, segment_bytes_)));
    PacketQueue packets = make_packets(maker, data, now);
    const std::lock_guard lock(lock_);
    while (packets.first != nullptr) append(packets.pop());
    send_allowed(maker);
    data += now;
    bytes -= now;
  }
}

/// Waits until the send buffer has room for `wanted` bytes. Returns the room.
inline std::size_t Socket::wait_for_room(std::size_t wanted) {
  const std::lock_guard lock(lock_);
  writable_.wait_until(lock_, [&] { return room() >= wanted; });
  return room();
}

inline PacketQueue Socket::make_packets(Maker& maker, const unsigned char* data, std::size_t bytes) const {
  PacketQueue packets;
  for (std::size_t done = 0; done < bytes;) {
    const auto some = static_cast<std::uint32_t>(std::min<std::size_t>(bytes - done, segment_bytes_));
    packets.push(maker.make(data + done, some));
    done += some;
  }
  return packets;
}

inline void Socket::receive(Maker& maker, unsigned char* data, std::size_t bytes, std::size_t piece) {
  while (bytes != 0) {
    if (reading_.first == nullptr) reading_ = take(maker, std::min(bytes, piece));
    const std::uint32_t copied = copy_out(reading_.first, first_read_, data, bytes);
    data += copied;
    bytes -= copied;
    first_read_ += copied;
    if (first_read_ < reading_.first->header.bytes) continue;
    first_read_ = 0;
    maker.free(reading_.pop());
  }
}

/// Takes packets until they have `most` bytes or more.
inline PacketQueue Socket::take(Maker& maker, std::size_t most) {
  const std::lock_guard lock(lock_);
  readable_.wait_until(lock_, [&] { return to_read_.first != nullptr; });
  PacketQueue taken;
  for (std::size_t bytes = 0; to_read_.first != nullptr && bytes < most;) {
    Mbuf* const packet = to_read_.pop();
    bytes += packet->header.bytes;
    taken.push(packet);
    read_ += packet->header.bytes;
  }
  report_window(maker);
  return taken;
}

inline void Socket::input(Maker& maker, Mbuf* packet) {
  const Header header = packet->header;
  bool is_expected = header.bytes == 0 || checksum_of(packet) == header.checksum;
  PacketQueue done;
  if (header.bytes == 0) done.push(packet);
  {
    const std::lock_guard lock(lock_);
    if (state_ != State::kOpen) shake_hands(maker, header);
    done.append(take_acknowledged(header));
    is_expected = is_expected && header.sequence == received_;
    if (header.bytes != 0) {
      received_ += header.bytes;
      to_read_.push(packet);
      readable_.signal();
      ++unacknowledged_;
    }
    send_allowed(maker);
    if (unacknowledged_ >= 2) transmit(maker.make());
  }
  maker.free(done);
  if (is_expected) return;
  std::printf("LOST or damaged packets of connection %u\n", connection_);
  std::fflush(stdout);
  std::_Exit(1);
}

// ---- Call these with the lock held.

inline void Socket::append(Mbuf* packet) {
  packet->header.sequence = appended_;
  appended_ += packet->header.bytes;
  to_send_.push(packet);
  if (unsent_ == nullptr) unsent_ = packet;
}

inline void Socket::send_allowed(Maker& maker) {
  for (; unsent_ != nullptr; unsent_ = unsent_->next_packet) {
    if (unsent_->header.sequence + unsent_->header.bytes > allowed_) return;
    transmit(maker.copy(unsent_));
  }
}

/// Completes the header and sends the packet. A packet without data has the number of the next byte.
inline void Socket::transmit(Mbuf* packet, bool opens) {
  Header& header = packet->header;
  if (header.bytes == 0) header.sequence = unsent_ == nullptr ? appended_ : unsent_->header.sequence;
  header.connection = connection_;
  header.opens = opens;
  header.acknowledged = received_;
  header.window = static_cast<std::uint32_t>(window());
  reported_ = received_ + window();
  unacknowledged_ = 0;
  ++packets_;
  network_.push(packet);
}

/// The handshake has three packets without data: to the server, back, and to the server again.
inline void Socket::shake_hands(Maker& maker, const Header& header) {
  if (state_ == State::kClosed) {
    state_ = State::kAccepting;
    transmit(maker.make(), true);
  } else if (state_ == State::kConnecting) {
    state_ = State::kOpen;
    transmit(maker.make());
    writable_.signal();
  } else if (!header.opens) {
    state_ = State::kOpen;
    listener_.push(connection_);
  }
}

inline PacketQueue Socket::take_acknowledged(const Header& header) {
  PacketQueue done;
  while (to_send_.first != unsent_ &&
         to_send_.first->header.sequence + to_send_.first->header.bytes <= header.acknowledged)
    done.push(to_send_.pop());
  allowed_ = std::max(allowed_, header.acknowledged + header.window);
  if (header.acknowledged > acknowledged_) {
    acknowledged_ = header.acknowledged;
    writable_.signal();
  }
  return done;
}

inline void Socket::report_window(Maker& maker) {
  const std::uint64_t grown = received_ + window() - reported_;
  if (grown >= std::min(2 * segment_bytes_, kReceiveBytes / 2)) transmit(maker.make());
}

}  // namespace workloads::network
