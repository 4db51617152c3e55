// Softmax and cross-entropy in one: the mean over the batch of sum_k t[k] (log(sum exp z) - z[k]), where t has 1 - smoothing at the label
// and smoothing / K everywhere besides, each times its class's weight, and the mean is over the labels' weights where there are any; the
// probabilities that its gradient needs, less 1 at the label, since a small difference from 1 has no digits in bfloat16 once it is added to
// 1; the number of samples whose class has the first of the largest logits, and of those whose class is among the `top` largest. Where a
// sample has several rows, such as the positions of a sequence, any of them may have no class: it counts for nothing, and the mean is over
// the others, or with `ofAll` their sum divided by all rows.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/no_class.h"
#include "cpu/kernels/count.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/exponential.h"
#include "cpu/kernels/operator.h"
#include "cpu/softmax_check.h"

namespace arbalest::kernels {
namespace {

// How much each class counts: 1 where no weights are given.
class ClassWeights {
 public:
  explicit ClassWeights(const OperatorSpec& spec) {
    const std::vector<double> given = spec.attributes.list("weights", {});
    if (given.empty()) return;
    mean_ = std::accumulate(given.begin(), given.end(), 0.0) / static_cast<double>(given.size());
    each_.assign(given.begin(), given.end());
  }

  double of(int32_t label) const { return each_.empty() ? 1 : static_cast<double>(each_[static_cast<size_t>(label)]); }
  double mean() const { return mean_; }
  // Of the classes from `at` on.
  template <bool Partial> Floats of_register(int64_t at, int width) const {
    return each_.empty() ? all(1.0f) : load<Partial>(each_.data() + at, width);
  }

 private:
  std::vector<float> each_;  // (K), or empty
  double mean_ = 1;
};

// The labels (N) of logits or differences (..., K).
class Labels {
 public:
  Labels(const int32_t* target, const Shape& logits)
      : target_(target), classes_(logits.back()), rows_(elements_of(logits) / classes_), may_lack_(logits.size() > 2) {}

  bool has_class(int64_t row) const { return !may_lack_ || target_[row] != kNoClass; }

  // The weights of the rows that have a class; 1 where their sum is 0, since nothing is to be divided then. Throws LABEL_OUT_OF_RANGE.
  double checked(const ClassWeights& weights) const {
    double found = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      if (!has_class(row)) continue;
      if (const int32_t label = target_[row]; label < 0 || label >= classes_)
        throw Error("LABEL_OUT_OF_RANGE", "target of sample " + std::to_string(row) + " of the batch: received " + std::to_string(label) +
                                              "; give a class number from 0 to " + std::to_string(classes_ - 1));
      found += weights.of(target_[row]);
    }
    return found > 0 ? found : 1;
  }

 private:
  const int32_t* target_;
  const int64_t classes_, rows_;
  const bool may_lack_;
};

template <class T> class SoftmaxCrossEntropy final : public Kernel {
 public:
  explicit SoftmaxCrossEntropy(const OperatorSpec& spec)
      : samples_(elements_of(spec.inputs[0].shape()) / spec.inputs[0].shape().back()),
        classes_(spec.inputs[0].shape().back()),
        logits_(input<T>(spec, 0)),
        target_(input<int32_t>(spec, 1)),
        labels_(target_, spec.inputs[0].shape()),
        weights_(spec),
        smoothing_(spec.attributes.number("smoothing", 0)),
        of_all_(spec.attributes.number("ofAll", 0) != 0),
        top_(static_cast<int64_t>(spec.attributes.number("top", 1))),
        loss_(output<float>(spec, 0)),
        differences_(output<T>(spec, 1)),
        correct_(spec, 2),
        among_top_(spec, 3) {
    places_.resize(static_cast<size_t>(samples_));
    losses_.resize(static_cast<size_t>(samples_));
    rows_.resize(static_cast<size_t>(omp_get_max_threads()), std::vector<float>(static_cast<size_t>(classes_ + kLanes)));
  }

  void run(const StepContext&) override {
    const double weighed = labels_.checked(weights_);
    for_each(samples_, samples_ * classes_, [&](int64_t sample) {
      const auto i = static_cast<size_t>(sample);
      if (!labels_.has_class(sample)) return leave_out(sample);
      const Highest found = highest_of(logits_ + sample * classes_, target_[sample]);
      places_[i] = found.better;
      losses_[i] = loss_of(sample, found.logit);
    });
    *loss_ = static_cast<float>(std::accumulate(losses_.begin(), losses_.end(), 0.0) / (of_all_ ? static_cast<double>(samples_) : weighed));
    const auto among = [&](int64_t most) {
      return static_cast<int32_t>(std::count_if(places_.begin(), places_.end(), [&](int64_t better) { return better < most; }));
    };
    correct_.set(among(1));
    among_top_.set(among(top_));
  }

 private:
  void leave_out(int64_t sample) {
    places_[static_cast<size_t>(sample)] = std::numeric_limits<int64_t>::max();
    losses_[static_cast<size_t>(sample)] = 0;
    if (differences_) std::fill_n(differences_ + sample * classes_, classes_, T{});
  }

  struct Highest {
    float logit;
    int64_t better;  // classes before the label in falling order, equal ones in their own order; if a logit is a NaN, all classes count
  };

  Highest highest_of(const T* z, int32_t label) const {
    constexpr float kLeast = -std::numeric_limits<float>::infinity();
    const float labelled = to_float(z[label]);
    Floats highest = all(kLeast);
    Ints better{};
    for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) {
      const Floats value = load<Partial>(z + at, width);
      const Ints before = lane_numbers() + static_cast<int32_t>(at) < label;
      Ints counts = ~(value <= labelled) | (before & (value == labelled));
      Floats logits = value;
      if constexpr (Partial) {
        counts &= lane_numbers() < width;
        logits = lane_numbers() < width ? value : all(kLeast);
      }
      better -= counts;
      highest = logits > highest ? logits : highest;
    });
    return {highest_lane(highest), labelled == labelled ? total_of(better) : classes_};
  }

  // Writes the differences, which may overwrite the logits.
  double loss_of(int64_t sample, float highest) {
    const T* z = logits_ + sample * classes_;
    float* const row = rows_[static_cast<size_t>(omp_get_thread_num())].data();
    const int32_t label = target_[sample];
    const double labelled = static_cast<double>(to_float(z[label])) - static_cast<double>(highest);
    Floats sums{}, below{};
    for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) {
      Floats distance = load<Partial>(z + at, width) - highest;
      Floats power = exponential(distance);
      if constexpr (Partial) {
        power = lane_numbers() < width ? power : Floats{};
        distance = lane_numbers() < width ? distance : Floats{};
      }
      below += distance * weights_.template of_register<Partial>(at, width);
      store(row + at, power);
      sums += power;
    });
    const double sum = sum_of(sums);
    if (differences_) {
      const auto share = static_cast<float>(1 / sum);
      T* d = differences_ + sample * classes_;
      for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) { store<Partial>(d + at, load(row + at) * share, width); });
      d[label] = from_float<T>(static_cast<float>((static_cast<double>(row[label]) - sum) / sum));
    }
    const double own = (1 - smoothing_) * weights_.of(label);
    const double spread = smoothing_ > 0 ? smoothing_ * sum_of(below) / static_cast<double>(classes_) : 0;
    return (own + smoothing_ * weights_.mean()) * std::log(sum) - own * labelled - spread;
  }

  const int64_t samples_, classes_;
  const T* logits_;        // (N, K), all axes but the last as one
  const int32_t* target_;  // (N)
  const Labels labels_;
  const ClassWeights weights_;
  const double smoothing_;
  const bool of_all_;
  const int64_t top_;
  float* loss_;     // (1)
  T* differences_;  // (N, K) or null
  const Count correct_, among_top_;
  std::vector<int64_t> places_;           // by sample: the classes before its label
  std::vector<double> losses_;            // by sample
  std::vector<std::vector<float>> rows_;  // by thread: one sample's powers, whole registers
};

template <class T> class SoftmaxCrossEntropyBackward final : public Kernel {
 public:
  explicit SoftmaxCrossEntropyBackward(const OperatorSpec& spec)
      : samples_(elements_of(spec.inputs[0].shape()) / spec.inputs[0].shape().back()),
        classes_(spec.inputs[0].shape().back()),
        differences_(input<T>(spec, 0)),
        target_(input<int32_t>(spec, 1)),
        labels_(target_, spec.inputs[0].shape()),
        weights_(spec),
        smoothing_(static_cast<float>(spec.attributes.number("smoothing", 0))),
        glogits_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const float share = 1.0f / static_cast<float>(labels_.checked(weights_));
    for_each(samples_, samples_ * classes_, [&](int64_t sample) {
      if (labels_.has_class(sample))
        run_sample(sample, share);
      else
        std::fill_n(glogits_ + sample * classes_, classes_, T{});
    });
  }

 private:
  // The gradient of -sum_j t[j] log p[j] is p[k] sum(t) - t[k], and p is the differences, and 1 more at the label.
  void run_sample(int64_t sample, float share) const {
    const int32_t label = target_[sample];
    const T* d = differences_ + sample * classes_;
    T* g = glogits_ + sample * classes_;
    const auto own = static_cast<float>(weights_.of(label)), mean = static_cast<float>(weights_.mean());
    const float sum = own + smoothing_ * (mean - own), spread = smoothing_ / static_cast<float>(classes_);
    const float labelled = (to_float(d[label]) * sum + (smoothing_ * mean - spread * own)) * share;
    for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) {
      const Floats smoothed = weights_.template of_register<Partial>(at, width) * spread;
      store<Partial>(g + at, (load<Partial>(d + at, width) * sum - smoothed) * share, width);
    });
    g[label] = from_float<T>(labelled);
  }

  const int64_t samples_, classes_;
  const T* differences_;   // (N, K)
  const int32_t* target_;  // (N)
  const Labels labels_;
  const ClassWeights weights_;
  const float smoothing_;
  T* glogits_;  // (N, K)
};

void check_forward(const Shapes& shapes) {
  check_softmax(shapes);
  const Shape& logits = shapes.input(0);
  shapes.input_is(1, {logits.begin(), logits.end() - 1});
  shapes.output_is(0, {1});
  shapes.output_is(1, logits);
  shapes.output_is(2, {1});
  shapes.output_is(3, {1});
  if (shapes.has_output(3)) shapes.whole("top", 1, 1 << 30);
}

void check_backward(const Shapes& shapes) {
  check_softmax(shapes);
  const Shape& differences = shapes.input(0);
  shapes.input_is(1, {differences.begin(), differences.end() - 1});
  shapes.output_is(0, differences);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"softmaxCrossEntropy",
       {{"logits", canonical}, {"target", label}},
       {{"loss", parameter}, {"differences", canonical, true}, {"correct", count, true}, {"amongTop", count, true}},
       check_forward,
       make_typed<SoftmaxCrossEntropy>,
       {{1, 0}}},
      {"softmaxCrossEntropyBackward",
       {{"differences", canonical}, {"target", label}},
       {{"glogits", canonical}},
       check_backward,
       make_typed<SoftmaxCrossEntropyBackward>,
       {{0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
