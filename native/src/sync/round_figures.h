// What is known of each whole round, for those who watch a run: its loss, how far each learner was from the central model, and how long it
// waited. Nothing is recorded before the first call of take_after() or sample_after().
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "core/clock.h"

namespace arbalest {

struct MemberFigures {
  int learner = 0;
  // |w - z| of its weights after the round's last step and the central model that the round began at; not a number where nothing tells it.
  double distance = std::numeric_limits<double>::quiet_NaN();
  double waited = 0;  // seconds, for other learners
};

struct RoundFigures {
  int64_t round = 0, iteration = 0;  // its number, and its first iteration
  double began = 0;                  // of the monotonic clock, when its first learner came
  double seconds = 0;                // of the same, when it was whole
  double averaged = 0;               // seconds that the rule's passes took
  double loss = 0;                   // mean over its learners and iterations; not a number without any
  std::vector<MemberFigures> members;
};

// Its owner serialises the calls. Calls for a round that is not recorded have no effect.
class RoundRecorder {
 public:
  // Whether any round may be recorded: members keep the memory for it.
  bool is_recording() const { return recording_ || sampled_until_ > Clock::time_point::min(); }
  // Whether the distances of the round's learners are to be measured.
  bool measures(int64_t round) const {
    const Record* const record = find(round);
    return record && record->measured;
  }

  // The round begins with these members. Under rules whose learners come to a round as they please, there are none yet.
  void open(int64_t round, int64_t iteration, std::span<const int> members);
  void add_loss(int64_t round, int learner, double loss);
  void add_wait(int64_t round, int learner, double seconds);
  void set_distance(int64_t round, int learner, double distance);
  // The learner has reported its last iteration of the round.
  void leave(int64_t round, int learner);
  // The learner is gone: no round waits for its report.
  void evict(int learner);
  // Seconds that measuring distances has taken of a learner's thread.
  void add_cost(double seconds);
  void finish(int64_t round, double averaged = 0);

  // The rounds after this one of which all is known, by their numbers, at most the newest 4096.
  std::vector<RoundFigures> take_after(int64_t round);
  // The same of a sample: ten rounds a second, and none once this has not been called for two seconds. Distances are measured in as many of
  // them as cost a 300th of a thread.
  std::vector<RoundFigures> sample_after(int64_t round);

 private:
  static constexpr size_t kMost = 4096;
  static constexpr int64_t kMostSampled = 64;
  static constexpr double kSamplePeriod = 100, kSampledFor = 2000;  // milliseconds
  static constexpr double kCostFactor = 300;
  struct Record {
    RoundFigures figures;
    double loss_sum = 0;
    int64_t losses = 0;
    std::vector<int> missing;  // members that have not reported yet
    bool whole = false;
    bool measured = false;
  };

  bool is_sampled();
  std::vector<RoundFigures> known_after(int64_t round);
  // Null where it is not recorded.
  const Record* find(int64_t round) const;
  Record* find(int64_t round);
  static MemberFigures& member(Record& record, int learner);

  bool recording_ = false;  // every round
  Clock::time_point sampled_until_ = Clock::time_point::min(), next_sample_{}, next_distance_{};
  std::deque<Record> records_;  // by rising number
};

}  // namespace arbalest
