// A readback of a GPU or of the stand-in: a kernel writes into memory of the host, which the host looks at. No call of the driver is
// needed, for which the threads of other learners would have to wait.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/passes/read_back.h"
#include "device/backend.h"

namespace arbalest::cuda {

class DeviceBackend;

class DeviceReadback final : public Readback {
 public:
  DeviceReadback(DeviceStream& stream, std::span<const Reading> readings);
  // All work that was queued on the stream must be done.
  ~DeviceReadback() override;
  void queue() override;
  void await(uint64_t number) override;

 private:
  // The number of the last readback that has arrived.
  uint64_t arrived() const;

  DeviceStream& stream_;
  DeviceBackend& backend_;
  const std::vector<Reading> readings_;
  const std::shared_ptr<void> memory_;
  ReadValues& values_;    // in that memory
  uint64_t* const made_;  // how many; on the device
};

}  // namespace arbalest::cuda
