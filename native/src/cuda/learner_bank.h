// The learner bank: learners of one job whose recorded steps do the same, each to its own memory, run as one recording, in which a launch
// is made once for several of them, with a row of its grid for each. A small batch fills a small part of a GPU, and each of its launches
// has to be waited for; a bank's launches are larger and fewer. What each learner computes is the same, to the bit.
//
// Learners come to their bank in their own time, and the last one queues the step of all on the bank's stream. A learner waits for a few of
// its own steps at most, and then goes on with those who have come. Who comes late runs its own recording, and is waited for in the next
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/launch_list.h"
#include "device/stream.h"

namespace arbalest::cuda {

class DeviceBackend;
class LearnerBank;

// What banks have done in this process: steps, of which one of three learners counts three; launches that their recordings have had on side
// branches; recordings that could not be made, so that learners ran by themselves; and why, of the last one.
struct BankReport {
  int64_t steps = 0, aside = 0, refusals = 0;
  std::string refusal;
};
BankReport bank_report();

// The banks of a device.
class LearnerBanks {
 public:
  explicit LearnerBanks(DeviceBackend& backend) : backend_(backend) {}
  ~LearnerBanks();

  // A learner's recording, with a seat in a bank of its company of up to `most` learners whose launches are like its own; a new bank where
  // there is none. `alone` is the same work, recorded on the learner's stream.
  std::unique_ptr<Recording> seat(const void* company, size_t most, LaunchList launches, std::unique_ptr<Recording> alone);

 private:
  DeviceBackend& backend_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<LearnerBank>> banks_;
};

}  // namespace arbalest::cuda
