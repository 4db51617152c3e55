// The devices of one process, each with memory of its own: a rank a device. A collective sums on all of them at once.
#pragma once

#include "device/collective.h"
#include "device/parameter_vectors.h"
#include "transport/level.h"

namespace arbalest {

class CollectiveLevel final : public Level {
 public:
  CollectiveLevel(Backend& backend, std::unique_ptr<Collective> collective, Type type, size_t bytes, int devices);

  const char* name() const override { return "devices"; }
  int rank() const override { return collective_->rank(); }
  int size() const override { return collective_->size(); }
  // All ranks take part in every sum: a device without learners adds zeros.
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  // Readers of the sums wait for the streams' events; nothing is waited for here.
  bool wait(Request& request, const std::atomic<bool>& called) override;
  bool is_at_work() override;
  void end() noexcept override;

 private:
  void check();

  const std::unique_ptr<Collective> collective_;
  const Type type_;
  std::vector<Memory> sums_;                  // one a device
  std::vector<std::shared_ptr<Event>> last_;  // by device: after all that is queued
};

}  // namespace arbalest
