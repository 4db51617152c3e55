// The limits and the reports of a replica's runs. Reports are the caller's; its group gets each step's loss by TrainingGroup::report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/program.h"

namespace arbalest {

// The end of a call that may have to wait for a group or for data.
enum class Outcome : uint8_t { done, waiting, paused, evicted, cancelled };

struct RunLimits {
  int64_t steps = 1;
  double milliseconds = 50;
  uint64_t position = 0;         // of the first batch, for a replica without a group
  std::optional<double> rate;    // of `update`, in place of the group's
  std::vector<int64_t> samples;  // (batch), that one `load` takes in place of those at its position
};

struct RunReport {
  Outcome outcome = Outcome::done;
  int64_t steps = 0;
  double loss_sum = 0, correct_sum = 0, busy_seconds = 0;
  double wait_seconds = 0, data_seconds = 0;  // for the group, for a stream's batch
};

struct OperatorProfile {
  Segment segment = Segment::load;
  std::string kind, name, implementation;
  int64_t runs = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

}  // namespace arbalest
