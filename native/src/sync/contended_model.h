// The central model of asynchronous rules: read and added to by whoever comes, a piece at a time, so that nobody waits for a whole pass of
// another's. Two threads are never in one piece at once; what is read may hold one learner's updates in some pieces and not yet in others.
// Hogwild's learners train its memory itself, without regard to this.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/backend.h"
#include "device/vectors.h"
#include "replica/snapshot.h"
#include "sync/evaluation_average.h"
#include "sync/rule.h"

namespace arbalest {

class ContendedModel {
 public:
  ContendedModel(Backend& backend, const GroupSpec& spec, const std::byte* initial_canonical);

  // Itself, for learners that train it in place.
  const std::shared_ptr<Memory>& weights() const { return weights_; }
  // A vector laid out like the parameters becomes the model.
  void fetch(std::byte* vector) const;
  void add(const Memory& updates);

  // A round between these positions is whole; its model goes into the evaluation average. One thread at a time.
  void take_into_average(uint64_t position, uint64_t next_position);
  bool has_average() const { return average_.has_value(); }
  // What is evaluated: the average where there is one, else the model.
  void fetch_evaluated(std::byte* vector) const;
  bool is_finite() const;

  // While no learner trains. All that has been gathered is forgotten.
  void restart(const std::byte* canonical);
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

 private:
  static constexpr size_t kLocks = 64;

  const std::byte* average() const { return average_ ? average_->weights() : nullptr; }
  // work(begin, end) over the model, no two threads at once in one piece.
  template <class Work> void by_pieces(Work&& work) const;

  Backend& backend_;
  const ParameterLayout& layout_;
  const std::vector<std::pair<size_t, size_t>> frozen_;
  const std::shared_ptr<Memory> weights_;
  mutable std::array<std::mutex, kLocks> pieces_;
  std::optional<EvaluationAverage> average_;
  mutable std::mutex averaging_;  // before a piece's, where both are wanted
};

}  // namespace arbalest
