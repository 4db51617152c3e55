// The central model of asynchronous rules. Learners read it and add to it piece by piece, with a lock for each piece, so that none waits
// for a whole pass of another. A model that is read may hold a learner's updates in some pieces and not yet in others. Hogwild's learners
// train this memory itself and take no locks.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/backend.h"
#include "device/parameter_vectors.h"
#include "replica/snapshot.h"
#include "sync/evaluation_average.h"
#include "sync/rule.h"

namespace arbalest {

class AsynchronousCentralModel {
 public:
  AsynchronousCentralModel(Backend& backend, const GroupSpec& spec, const std::byte* initial_canonical);

  // The model itself, for learners that train it in place.
  const std::shared_ptr<Memory>& weights() const { return weights_; }
  // Copies the model into `vector`, which is laid out as the parameters are.
  void fetch(std::byte* vector) const;
  void add(const Memory& updates);

  // A round between these positions is whole: takes the model into the evaluation average. One thread at a time.
  void take_into_average(uint64_t position, uint64_t next_position);
  bool has_average() const { return average_.has_value(); }
  // Copies the evaluation average, or the model if there is none.
  void fetch_evaluated(std::byte* vector) const;
  bool is_finite() const;

  // While no learner trains. Clears the average.
  void replace(const std::byte* canonical);
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

 private:
  static constexpr size_t kLocks = 64;

  const std::byte* average() const { return average_ ? average_->weights() : nullptr; }
  // Calls work(begin, end) for each piece of the model, under the piece's lock.
  template <class Work> void by_pieces(Work&& work) const;

  Backend& backend_;
  const ParameterLayout& layout_;
  const std::vector<std::pair<size_t, size_t>> frozen_;
  const std::shared_ptr<Memory> weights_;
  mutable std::array<std::mutex, kLocks> pieces_;
  std::optional<EvaluationAverage> average_;
  mutable std::mutex averaging_;  // is taken before a piece's lock
};

}  // namespace arbalest
