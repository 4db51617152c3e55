// Brings some bytes of every host to all of them, again and again: turns follow one another in the same order on all hosts, and those of a
// turn are as long on each. It does not go on without a lost host.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/condition_variable.h"
#include "device/collective.h"
#include "transport/hosts_thread.h"

namespace arbalest {

class HostGather final : public Peers {
 public:
  struct Turn {
    std::vector<std::byte> all;  // by host
    size_t left = 0;             // messages under way
  };

  // Gathers of one channel and tag meet each other.
  HostGather(std::shared_ptr<HostsThread> hosts, Channel channel, int tag);
  ~HostGather() override;
  HostGather(const HostGather&) = delete;
  HostGather& operator=(const HostGather&) = delete;

  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  // Returns at once.
  std::shared_ptr<const Turn> begin(std::span<const std::byte> own);
  // False if the thread is called away before all has come.
  bool await(const Turn& turn, const std::atomic<bool>& called);
  // A wait looks whether it is called away.
  void wake();

  void gather(std::span<const std::byte> own, std::span<std::byte> all) override;
  void check() override;
  void give_up() noexcept override;

 private:
  void arrive(Turn& turn);
  void go_on(const std::map<int, HostsThread::Bytes>& states);

  const std::shared_ptr<HostsThread> hosts_;
  const Channel channel_;
  const int tag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> given_up_{false};
  std::exception_ptr loss_;
};

}  // namespace arbalest
