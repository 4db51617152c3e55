// The stand-in's stream: a thread that runs queued work in order. Like a GPU it starts late and runs beside its caller, so that tests on
// this machine find code that does not wait for it.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/condition_variable.h"
#include "cuda/device_stream.h"

namespace arbalest::cuda {

class HostEvent final : public Event {
 public:
  // Throws the failure of the work before it, as a GPU does that has failed.
  bool reached() override;
  // `failure`: of the work before it, if it has failed.
  void reach(std::exception_ptr failure = nullptr);
  // Throws that failure.
  void await();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::exception_ptr failure_;
};

class HostStream final : public DeviceStream {
 public:
  explicit HostStream(DeviceBackend& backend);
  ~HostStream() override;

  void submit(std::function<void()> work);
  // It is left out where earlier work has failed, as on a GPU.
  void submit_kernel(std::function<void()> kernel);
  // The stand-in runs branches one after another, the last one first.
  void run_branches(std::span<const Branch> branches) override;
  const StepParameters* parameters() const override { return &parameters_; }
  // The side branch runs as late as possible: when the main branch waits for it. Without a wait that is needed, it reads overwritten
  // memory.
  void begin_side() override { on_side_ = true; }
  std::shared_ptr<Event> end_side() override;
  void await_side(const std::shared_ptr<Event>& end) override;
  // The parameters of the steps that are queued from now on.
  void set(uint64_t seed, uint64_t position, std::vector<int64_t> samples);
  void bring(std::vector<uint8_t> batch, std::vector<int32_t> labels, std::vector<float> targets);

  std::shared_ptr<HostEvent> mark();
  void queue_after(std::shared_ptr<HostEvent> event);
  void synchronise();
  bool is_idle();

  // Queued: no work of an earlier step is aside.
  void clear_side();

  // What `queue` submits, which is kept and not run. Throws INTERNAL if a transfer that it begins is not settled in it: a GPU ends no
  // recording before all work that it has forked has joined.
  std::vector<std::function<void()>> record(const std::function<void()>& queue);
  // A transfer of a tier begins beside the stream, and is waited for.
  void fork(const void* tier, size_t transfer);
  // Throws INTERNAL in a recording in which the transfer has not begun: a GPU waits there for nothing that another recording has begun.
  void join(const void* tier, size_t transfer);
  void run(const std::vector<std::function<void()>>& recording);
  // Whether recordings have run since the call before.
  bool forget_recordings() { return std::exchange(has_run_recordings_, false); }

 private:
  void queue_copy(void* to, const void* from, size_t bytes) override;
  std::exception_ptr failure();
  void work();

  StepParameters parameters_;
  std::vector<int64_t> samples_;
  std::vector<uint8_t> batch_;
  std::vector<int32_t> labels_;
  std::vector<float> targets_;
  std::vector<std::function<void()>> recorded_;
  bool recording_ = false, on_side_ = false, has_run_recordings_ = false;
  size_t recorded_on_side_ = 0;
  std::set<std::pair<const void*, size_t>> forked_;  // in this recording
  // The stream's thread's own: what a recording that runs has aside, and how much of it has been done.
  std::vector<std::function<void()>> side_work_;
  size_t done_on_side_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::exception_ptr failure_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

inline HostStream& queue_of(DeviceStream& stream) { return static_cast<HostStream&>(stream); }

}  // namespace arbalest::cuda
