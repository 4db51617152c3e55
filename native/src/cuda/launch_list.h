// Launches that are kept in the order in which they would have been queued, so that those of several learners can be queued as one
// (learner_bank.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace arbalest::cuda {

class Accesses;
class DeviceStream;

class KeptLaunch {
 public:
  virtual ~KeptLaunch() = default;
  // Whether the two do the same to other memory, so that they may be queued together.
  virtual bool is_like(const KeptLaunch& other) const = 0;

  // What its operator reads and writes, null if it belongs to no operator; and whether it may run on the side branch (side_branch.h).
  const Accesses* accesses = nullptr;
  bool may_leave = false;
};

using LaunchList = std::vector<std::unique_ptr<KeptLaunch>>;

// A kernel of ours.
class KeptKernel : public KeptLaunch {
 public:
  // In a recording of `stream`: queues `all`, which are like this one. They start when earlier work is done, and may run at the same time.
  virtual void queue(std::span<const KeptKernel* const> all, DeviceStream& stream) const = 0;
};

// What only its own stream can queue: kernels of libraries, whose handle and workspace are the stream's, and copies.
class KeptWork final : public KeptLaunch {
 public:
  // `kind`: what it does.
  KeptWork(DeviceStream& stream, std::string kind, std::function<void()> work)
      : stream_(stream), kind_(std::move(kind)), work_(std::move(work)) {}
  bool is_like(const KeptLaunch& other) const override;
  DeviceStream& stream() const { return stream_; }
  void queue() const { work_(); }

 private:
  DeviceStream& stream_;
  const std::string kind_;
  const std::function<void()> work_;
};

}  // namespace arbalest::cuda
