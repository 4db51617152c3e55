// The part of a stream that operators use, on a GPU and in the stand-in.
#pragma once

#include <cstddef>
#include <mutex>

#include "cuda/side_branch.h"
#include "cuda/step_parameters.h"
#include "device/stream.h"

namespace arbalest::cuda {

class DeviceBackend;

class DeviceStream : public Stream {
 public:
  explicit DeviceStream(DeviceBackend& backend) : backend_(backend) {}
  ~DeviceStream() override;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  DeviceBackend& backend() { return backend_; }
  // Between two places in device memory, as kernels see them.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  // Device memory with the parameters of the present step; its address never changes.
  virtual const StepParameters* parameters() const = 0;

  SideBranch& side_branch() { return side_branch_; }
  // In a recording: work that is queued between these two calls goes to the side branch, after all work that has been queued before.
  virtual void begin_side() = 0;
  virtual std::shared_ptr<Event> end_side() = 0;
  // The main branch waits here until the side branch has reached this event.
  virtual void await_side(const std::shared_ptr<Event>& end) = 0;

  // Device memory for a pass that ends with a wait, kept for later passes. Threads of one stream take turns.
  class Notes {
   public:
    Notes(DeviceStream& stream, size_t bytes);
    void* data() const { return stream_.notes_; }

   private:
    DeviceStream& stream_;
    const std::lock_guard<std::mutex> turn_;
  };

 private:
  DeviceBackend& backend_;
  SideBranch side_branch_{*this};
  std::mutex turn_;
  void* notes_ = nullptr;
  size_t notes_bytes_ = 0;
};

}  // namespace arbalest::cuda
