// Measures the links between the hosts of a run, in a thread of its own: every host sends to another one at the same time, with another
// distance between their ranks in each turn, so that each turn loads all links, and those between racks by as many hosts as the distance
// lets cross. It takes less than a second on links of some megabits a second and faster. All hosts have equal figures in the end, and so
// choose alike.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/condition_variable.h"
#include "transport/host_gather.h"
#include "transport/hosts_thread.h"

namespace arbalest {

struct LinkFigures {
  struct Turn {
    int distance = 0;                      // each host sends to the one so many ranks after it
    std::vector<double> bytes_per_second;  // at which each host receives, by rank
  };
  std::vector<Turn> turns;
  std::vector<double> latency;           // seconds of a small message, by rank
  std::vector<double> seconds_per_byte;  // of a host's processor, for what it sends or receives, by rank
};

class LinkProbe {
 public:
  // Each host makes it in the same order as its groups, and all are there.
  LinkProbe(std::shared_ptr<HostsThread> hosts, int number);
  ~LinkProbe();
  LinkProbe(const LinkProbe&) = delete;
  LinkProbe& operator=(const LinkProbe&) = delete;

  // Nothing until it is done. Throws HOST_LOST.
  std::optional<LinkFigures> figures() const;

 private:
  LinkFigures measure();
  double measure_latency();
  // The bytes a second that come from the host `distance` before this one, once bursts are over.
  double receive_rate(int distance, size_t messages);
  template <class Number> std::vector<Number> gather(Number own);
  void arrive(int& left);

  const std::shared_ptr<HostsThread> hosts_;
  const int tag_;
  HostGather gather_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> given_up_{false};
  std::optional<LinkFigures> figures_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace arbalest
