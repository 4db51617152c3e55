// An average of the central model over rounds, which is evaluated in its place. Training does not read it.
//
// EMA: Polyak and Juditsky, 1992, with exponential weights. SWA: Izmailov et al., "Averaging weights leads to wider optima and better
// generalization", UAI 2018. LAWA: Kaddour, "Stop wasting my time! Saving days of ImageNet and BERT training with latest weight averaging",
// 2022.
#pragma once

#include <vector>

#include "device/backend.h"
#include "device/parameter_vectors.h"
#include "replica/snapshot.h"
#include "sync/rule.h"

namespace arbalest {

class EvaluationAverage {
 public:
  EvaluationAverage(Backend& backend, const ParameterLayout& layout, const EvaluationAverageSpec& spec);

  // Null until a first model has been taken.
  const std::byte* weights() const { return taken_ > 0 ? averages_[current_].data() : nullptr; }

  // The samples handed out before and after the round that ends.
  void begin_averaging(uint64_t before, uint64_t after);
  void apply(const std::byte* central, size_t begin, size_t end, bool learns) const;
  void end_averaging();
  void clear() { taken_ = 0; }
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

 private:
  // The weight of the next model in the average.
  double blend_factor() const;

  VectorPasses& passes_;
  const EvaluationAverageSpec spec_;
  const Type type_;
  Memory averages_[2];
  std::vector<Memory> window_;       // of lawa: the last models, as a ring
  std::vector<const void*> models_;  // of lawa: those of the window that have been taken, and the present round's
  size_t current_ = 0;
  int64_t taken_ = 0;
  bool takes_ = false;  // the present round's model
};

}  // namespace arbalest
