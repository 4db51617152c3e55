// The part of a stream that operators use, on a GPU and in the stand-in.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>

#include "cuda/launch_list.h"
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
  void copy(void* to, const void* from, size_t bytes);
  // Device memory with the parameters of the present step; its address never changes.
  virtual const StepParameters* parameters() const = 0;

  SideBranch& side_branch() { return side_branch_; }
  // In a recording: work that is queued between these two calls goes to the side branch, after all work that has been queued before.
  virtual void begin_side() = 0;
  virtual std::shared_ptr<Event> end_side() = 0;
  // The main branch waits here until the side branch has reached this event.
  virtual void await_side(const std::shared_ptr<Event>& end) = 0;

  // Keeps what `work` would queue, in the place of queuing it. The objects that `work` uses must outlive the list.
  LaunchList keep(const std::function<void()>& work);
  // Where launches are kept now; null where they are queued.
  LaunchList* kept() { return kept_; }

  struct Branch {
    DeviceStream& stream;
    std::function<void()> work;  // queues on that stream
  };
  // In a recording: the branches may run at the same time. They start when the work that was queued before them is done, and later work
  // starts when all branches are done.
  virtual void run_branches(std::span<const Branch> branches) = 0;

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
  virtual void queue_copy(void* to, const void* from, size_t bytes) = 0;

  DeviceBackend& backend_;
  SideBranch side_branch_{*this};
  LaunchList* kept_ = nullptr;
  std::mutex turn_;
  void* notes_ = nullptr;
  size_t notes_bytes_ = 0;
};

}  // namespace arbalest::cuda
