// Messages between the processes of a run, for what they tell each other at rests: orders of rank 0, answers to them, vectors in pieces.
// Each is some bytes to one host. They arrive in the order in which they were sent, whatever the learners do. A message is kept until the
// other host has told that it is there, so that none is missing where hosts go on after the loss of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "transport/hosts_thread.h"

namespace arbalest {

class HostMessages {
 public:
  // Send and take once the hosts have met.
  explicit HostMessages(HostsThread& hosts);
  ~HostMessages();
  HostMessages(const HostMessages&) = delete;
  HostMessages& operator=(const HostMessages&) = delete;

  // Copies the bytes and returns at once; a message to a host that is lost is dropped. Throws INVALID_OPTION for a rank that does not exist
  // or is this process, or for too many bytes, and the failure of the hosts.
  void send(int to, std::span<const std::byte> bytes);
  // The oldest message from a host that has not been taken; nothing if there is none yet. Once all that has come is taken, it throws the
  // loss of that host, or the failure of the hosts.
  std::optional<std::vector<std::byte>> take(int from);
  // Calls `wake`, in any thread, when a message has come, a host is lost or the hosts have failed.
  void watch(std::function<void()> wake);

 private:
  using Parcel = std::pair<uint64_t, std::vector<std::byte>>;
  struct Peer {
    uint64_t bytes = 0;  // of the next message from there
    std::vector<std::byte> body;
    std::deque<std::vector<std::byte>> arrived;
    uint64_t received = 0;      // messages so far
    uint64_t acknowledged = 0;  // as the other host has told
    uint64_t acknowledgement = 0;
    std::deque<std::shared_ptr<const Parcel>> sent;  // from the first that is not acknowledged on
  };

  // Expects messages, once the hosts have met.
  void begin();
  Peer& of(int rank);
  void expect(int rank);
  void expect_body(int rank);
  void arrive(int rank);
  void expect_acknowledgement(int rank);
  // The other host has so many messages.
  void forget(Peer& peer, uint64_t acknowledged);
  void post(int rank, const std::shared_ptr<const Parcel>& parcel);
  HostsThread::Bytes state();
  void go_on(const std::map<int, HostsThread::Bytes>& states);
  void wake();

  HostsThread& hosts_;
  std::mutex mutex_;
  std::vector<Peer> peers_;
  bool paused_ = false;  // between state() and go_on()
  std::function<void()> wake_;
};

}  // namespace arbalest
