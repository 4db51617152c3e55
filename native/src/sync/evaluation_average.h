// An average of the central model over rounds: what is evaluated in its place. It takes no part in training.
//
// EMA: Polyak and Juditsky, 1992, with exponential weights. SWA: Izmailov et al., "Averaging weights leads to wider optima and better
// generalization", UAI 2018. LAWA: Kaddour, "Stop wasting my time! Saving days of ImageNet and BERT training with latest weight averaging",
// 2022.
#pragma once

#include <vector>

#include "device/backend.h"
#include "device/vectors.h"
#include "replica/snapshot.h"
#include "sync/rule.h"

namespace arbalest {

class EvaluationAverage {
 public:
  EvaluationAverage(Backend& backend, const ParameterLayout& layout, const EvaluationAverageSpec& spec);

  // Null until a first model has been taken.
  const std::byte* weights() const { return taken_ > 0 ? averages_[current_].data() : nullptr; }

  // The samples handed out before and after the round that ends.
  void begin_round(uint64_t before, uint64_t after);
  void apply(const std::byte* central, size_t begin, size_t end, bool changes) const;
  void finish_round();
  void restart() { taken_ = 0; }
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

 private:
  // Of the model that is taken next.
  double weight() const;

  Backend& backend_;
  const EvaluationAverageSpec spec_;
  const Type type_;
  Memory averages_[2];
  std::vector<Memory> window_;       // of lawa: the last models,
  std::vector<const void*> models_;  // and those of them that there are, with the present round's
  size_t current_ = 0;
  int64_t taken_ = 0;
  bool takes_ = false;  // in the present round
};

}  // namespace arbalest
