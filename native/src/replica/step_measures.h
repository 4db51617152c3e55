// The measures of a step over all its batches: its loss, and the number of correct samples.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "core/program.h"
#include "device/readback.h"
#include "replica/replica_memory.h"

namespace arbalest {

class StepMeasures {
 public:
  StepMeasures(const Program& program, const ReplicaMemory& memory);

  void begin();
  // Another batch of the same step: adds the measures of the batch before to those of earlier ones.
  void advance();
  // The batch runs once more: what has been read of it does not count.
  void renew() {
    kept_.reset();
    is_read_back_ = false;
  }
  // Reads the measures of the batch once. If they are not read back, call it before more work is queued, for which the host would wait, and
  // before the arena is given back.
  void read();

  // By which a recording hands the measures to the host. Null where the program has none, or where the device reads nothing back. Valid
  // until forget_readback().
  Readback* readback();
  // A recording that reads back those of the present batch has been queued.
  void expect_readback() {
    ++queued_;
    is_read_back_ = true;
  }
  // The measures lie elsewhere for good. Nothing may be queued.
  void forget_readback();

  // Sums over the batches that have run; 0 for what the program does not measure.
  double loss() { return both()[0]; }
  double correct() { return both()[1]; }

 private:
  using Pair = std::array<double, 2>;  // of loss and correct
  using Bytes = std::array<std::byte, 8>;

  // One copy in the place of two, where both lie so close that the bytes between them cost less than another copy.
  std::optional<Pair> read_at_once() const;
  Pair read_apart();
  Pair await_readback();
  // They copy the measures that the program has to landed_.
  std::span<const Reading> readings();
  Pair landed() const;
  Pair both() {
    read();
    return {earlier_[0] + (*kept_)[0], earlier_[1] + (*kept_)[1]};
  }

  const ReplicaMemory& memory_;
  const std::array<const PlacedValue*, 2> measures_;  // null where the program has none
  std::array<Bytes, 2> landed_{};
  std::array<Reading, 2> readings_;
  std::unique_ptr<Readback> readback_;  // once it has been asked for
  uint64_t queued_ = 0;                 // readbacks
  bool is_read_back_ = false;           // the last one has the measures of the present batch
  Pair earlier_{};
  std::optional<Pair> kept_;
};

}  // namespace arbalest
