// Messages between the processes of a run, for what they tell each other at rests: orders of rank 0, answers to them, vectors in pieces.
// Each is some bytes to one host. They arrive in the order in which they were sent, whatever the learners do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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

  // Copies the bytes and returns at once. Throws INVALID_OPTION for a rank that does not exist or is this process, or for too many bytes,
  // and the failure of the hosts.
  void send(int to, std::span<const std::byte> bytes);
  // The oldest message from a host that has not been taken; nothing if there is none yet. Once all that has come is taken, it throws the
  // failure of the hosts.
  std::optional<std::vector<std::byte>> take(int from);
  // Calls `wake`, in any thread, when a message has come or the hosts have failed.
  void watch(std::function<void()> wake);

 private:
  struct Incoming {
    uint64_t bytes = 0;  // of the next message
    std::vector<std::byte> body;
    std::deque<std::vector<std::byte>> arrived;
  };
  using Parcel = std::pair<uint64_t, std::vector<std::byte>>;

  // Expects messages, once the hosts have met.
  void begin();
  Incoming& of(int rank);
  void expect(int rank);
  void expect_body(int rank);
  void arrive(int rank);
  void wake();

  HostsThread& hosts_;
  std::mutex mutex_;
  std::vector<Incoming> incoming_;
  std::function<void()> wake_;
};

}  // namespace arbalest
