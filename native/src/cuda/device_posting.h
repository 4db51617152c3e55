// A posting of a GPU or of the stand-in: a kernel writes into memory of the host, which the host looks at. No call of the driver is needed,
// for which the threads of other learners would have to wait.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/passes/post.h"
#include "device/backend.h"

namespace arbalest::cuda {

class DeviceBackend;

class DevicePosting final : public Posting {
 public:
  DevicePosting(DeviceStream& stream, std::span<const Reading> readings);
  // All work that was queued on the stream must be done.
  ~DevicePosting() override;
  void queue() override;
  void await(uint64_t number) override;

 private:
  uint64_t posts() const;

  DeviceStream& stream_;
  DeviceBackend& backend_;
  const std::vector<Reading> readings_;
  const std::shared_ptr<void> memory_;
  Posted& posted_;  // in that memory
  uint64_t* const posts_;
};

}  // namespace arbalest::cuda
