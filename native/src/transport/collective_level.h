// Devices with memories of their own: a rank a device. A collective sums on all of them at once, on those of all hosts too: beside it the
// hosts tell each other how many learners each sum is of, and that is all that they exchange themselves.
#pragma once

#include "device/collective.h"
#include "device/parameter_vectors.h"
#include "transport/host_gather.h"
#include "transport/level.h"

namespace arbalest {

class CollectiveLevel final : public Level {
 public:
  // `counts` joins the hosts that the collective spans; null for the devices of one process.
  CollectiveLevel(Backend& backend, std::unique_ptr<Collective> collective, std::unique_ptr<HostGather> counts, Type type, size_t bytes,
                  int devices);

  const char* name() const override { return counts_ ? "hosts" : "devices"; }
  bool joins_hosts() const override { return counts_ != nullptr; }
  int rank() const override { return collective_->rank(); }
  int size() const override { return collective_->size(); }
  // All ranks take part in every sum: a device without learners adds zeros.
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  // Readers of the sums wait for the streams' events; here the hosts' counts are waited for, and nothing else.
  bool wait(Request& request, const std::atomic<bool>& called) override;
  void wake() override;
  bool is_at_work() override;
  void end() noexcept override;

 private:
  struct Begun : Request {
    std::shared_ptr<const HostGather::Turn> counts;
  };

  void queue_sum(size_t elements, std::span<const Collective::Place> places);
  void check();
  void mark_last();
  bool has_run_last() const;

  const std::unique_ptr<Collective> collective_;
  const std::unique_ptr<HostGather> counts_;
  const Type type_;
  std::vector<Memory> sums_;                  // one a device
  std::vector<std::shared_ptr<Event>> last_;  // by device: after all that is queued
};

}  // namespace arbalest
