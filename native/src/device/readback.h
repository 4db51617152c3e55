// A few numbers of a device that the host gets in the middle of the device's work, so that it need not wait for the work behind them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arbalest {

class Readback {
 public:
  // Readings of a readback; each is of 4 or 8 bytes.
  static constexpr size_t kMost = 2;

  virtual ~Readback() = default;
  // Queues one more readback. In a recording: each of its runs reads back once.
  virtual void queue() = 0;
  // Waits until readback `number` has arrived (the first is 1), and makes the readings. If a later one has run meanwhile, they may be that
  // one's. Throws the errors of the calling thread's stream.
  virtual void await(uint64_t number) = 0;
};

}  // namespace arbalest
