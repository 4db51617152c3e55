// Queues of work on a device. Each replica has its own, in whose order its work runs; events order the work of several queues. No call
// waits for a whole device.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "device/readback.h"

namespace arbalest {

struct Dataset;
struct Reading;
struct StepContext;

class Stream {
 public:
  virtual ~Stream() = default;
};

// A point in a stream. A null pointer stands for a point that has been reached.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool reached() = 0;
};

// Kernels that were recorded once. When they run again they read the step's position, seed and samples that `Streams::begin` has set.
class Recording {
 public:
  virtual ~Recording() = default;
  // Returns the seconds for which it has waited for others.
  virtual double run() = 0;
};

// The streams of one device. The work of the calling thread goes to the stream that it uses: kernels are made for that stream, and passes,
// copies and events are queued on it.
class Streams {
 public:
  virtual ~Streams() = default;

  // A new stream. Null for a backend without streams, whose work is done when a call returns.
  virtual std::unique_ptr<Stream> stream() = 0;
  // The calling thread uses this stream from now on; null stands for the backend's own. Returns the stream that it used before.
  virtual Stream* use_stream(Stream* stream) noexcept = 0;

  // An event behind all work that has been queued so far.
  virtual std::shared_ptr<Event> mark() = 0;
  // All work that is queued from now on runs after `event`. The caller does not wait.
  virtual void queue_after(const std::shared_ptr<Event>& event) = 0;
  // The caller waits until all queued work is done. Throws the errors of that work.
  virtual void synchronise() = 0;

  // Kernels that are queued from now on read this step's position, seed and samples.
  virtual void begin(const StepContext& step) = 0;
  // Copies a streamed batch to the device, for the `load` kernels of the step that has begun. Only for backends with streams: elsewhere
  // these kernels read the data set of the context.
  virtual void bring(const Dataset& batch) = 0;
  // Records the kernels that `work` queues, to be run again at the cost of one; they must outlive the recording. Recordings of one
  // `company` that do the same, each to its own memory, may run as one, for which each waits for the others; null for one that runs alone.
  // Only for backends whose capabilities have `recording`.
  virtual std::unique_ptr<Recording> record_kernels(const std::function<void()>& work, const void* company) = 0;
  // Of these readings, from the calling thread's stream; null where the device reads nothing back. Only for backends whose capabilities
  // have `recording`.
  virtual std::unique_ptr<Readback> readback(std::span<const Reading> readings) = 0;
};

// While it lives, the calling thread uses `stream`.
class UsedStream {
 public:
  UsedStream(Streams& streams, Stream* stream) : streams_(streams), before_(streams.use_stream(stream)) {}
  ~UsedStream() { streams_.use_stream(before_); }
  UsedStream(const UsedStream&) = delete;
  UsedStream& operator=(const UsedStream&) = delete;

 private:
  Streams& streams_;
  Stream* const before_;
};

}  // namespace arbalest
