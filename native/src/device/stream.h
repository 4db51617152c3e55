// A queue of work on a device, in order, beside the queues of other replicas. Events order queues among each other; nothing ever waits for
// a whole device.
#pragma once

namespace arbalest {

class Stream {
 public:
  virtual ~Stream() = default;
};

// A point in a queue. Null stands for one that has been reached.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool reached() = 0;
};

// Work that was recorded once; its kernels read what changes from step to step where `Backend::begin` puts it.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void run() = 0;
};

}  // namespace arbalest
