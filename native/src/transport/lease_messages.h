// What the hosts of several jobs tell each other of the turns on their devices: the first one whose turn begins, the others which turn
// their learners wait for. It has a link of its own, since the jobs have theirs and end at different times.
#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "device/device_lease.h"
#include "transport/hosts_thread.h"

namespace arbalest {

class LeaseMessages {
 public:
  LeaseMessages(std::shared_ptr<HostsThread> hosts, DeviceLease& lease);
  ~LeaseMessages();
  LeaseMessages(const LeaseMessages&) = delete;
  LeaseMessages& operator=(const LeaseMessages&) = delete;

 private:
  void change();
  void send(const DeviceLease::TurnMessage& message);
  void expect(int from, Channel channel);

  const std::shared_ptr<HostsThread> hosts_;
  DeviceLease& lease_;
  std::atomic<bool> begun_{false};
  std::deque<DeviceLease::TurnMessage> received_;  // the last one of each host
};

}  // namespace arbalest
