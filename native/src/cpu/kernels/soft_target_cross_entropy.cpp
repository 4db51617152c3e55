// Softmax and cross-entropy with targets (N, K) that give every class a share: the mean over the rows of -sum_k t[k] log p[k], where t has
// 1 - smoothing of the share and smoothing / K besides, times the weight of the class. Its gradient is p[k] sum(t) - t[k], over N: made
// here, since the probabilities are at hand. A row counts as correct where its largest logit and its largest share are of the same class.
#include <omp.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/kernels/count.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/exponential.h"
#include "cpu/kernels/operator.h"
#include "cpu/softmax_check.h"

namespace arbalest::kernels {
namespace {

template <class T> class SoftTargetCrossEntropy final : public Kernel {
 public:
  explicit SoftTargetCrossEntropy(const OperatorSpec& spec)
      : rows_(elements_of(spec.inputs[0].shape()) / spec.inputs[0].shape().back()),
        classes_(spec.inputs[0].shape().back()),
        logits_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        smoothing_(static_cast<float>(spec.attributes.number("smoothing", 0))),
        loss_(output<float>(spec, 0)),
        gradient_(output<T>(spec, 1)),
        correct_(spec, 2),
        losses_(static_cast<size_t>(rows_)),
        right_(static_cast<size_t>(rows_)) {
    const std::vector<double> weights = spec.attributes.list("weights", std::vector<double>(static_cast<size_t>(classes_), 1));
    weights_.assign(weights.begin(), weights.end());
    powers_.resize(static_cast<size_t>(omp_get_max_threads()), std::vector<float>(static_cast<size_t>(classes_ + kLanes)));
  }

  void run(const StepContext&) override {
    for_each(rows_, rows_ * classes_, [&](int64_t row) {
      const T* const z = logits_ + row * classes_;
      const int64_t largest = place_of_largest(z);
      right_[static_cast<size_t>(row)] = largest >= 0 && largest == place_of_largest(target_ + row * classes_);
      losses_[static_cast<size_t>(row)] = loss_of(row, to_float(z[largest < 0 ? 0 : largest]));
    });
    *loss_ = static_cast<float>(std::accumulate(losses_.begin(), losses_.end(), 0.0) / static_cast<double>(rows_));
    correct_.set(std::accumulate(right_.begin(), right_.end(), int64_t{0}));
  }

 private:
  // The first of the largest; -1 where one is no number.
  int64_t place_of_largest(const T* row) const {
    int64_t largest = 0;
    for (int64_t k = 0; k < classes_; ++k) {
      if (to_float(row[k]) != to_float(row[k])) return -1;
      if (to_float(row[k]) > to_float(row[largest])) largest = k;
    }
    return largest;
  }

  template <bool Partial> Floats target_of(const T* row, int64_t at, int width) const {
    const Floats smoothed = load<Partial>(row + at, width) * (1 - smoothing_) + smoothing_ / static_cast<float>(classes_);
    const Floats weighed = smoothed * load<Partial>(weights_.data() + at, width);
    return Partial ? lane_numbers() < width ? weighed : Floats{} : weighed;
  }

  // Writes the gradient, which may overwrite logits or target.
  double loss_of(int64_t row, float highest) {
    const T *const z = logits_ + row * classes_, *const target = target_ + row * classes_;
    float* const powers = powers_[static_cast<size_t>(omp_get_thread_num())].data();
    Floats sums{}, shares{}, below{};
    for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) {
      const Floats distance = load<Partial>(z + at, width) - highest, t = target_of<Partial>(target, at, width);
      Floats power = exponential(distance);
      if constexpr (Partial) power = lane_numbers() < width ? power : Floats{};
      store(powers + at, power);
      sums += power;
      shares += t;
      // A class that counts for nothing may have a logit of minus infinity.
      below += t != 0.0f ? t * distance : Floats{};
    });
    const double sum = sum_of(sums), all_shares = sum_of(shares);
    if (gradient_) {
      const auto each = static_cast<float>(all_shares / sum), rows = static_cast<float>(rows_);
      T* const gradient = gradient_ + row * classes_;
      for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) {
        const Floats t = target_of<Partial>(target, at, width);
        store<Partial>(gradient + at, (load(powers + at) * each - t) / rows, width);
      });
    }
    return all_shares * std::log(sum) - static_cast<double>(sum_of(below));
  }

  const int64_t rows_, classes_;
  const T *logits_, *target_;  // (N, K), all axes but the last as one
  const float smoothing_;
  std::vector<float> weights_;  // (K)
  float* loss_;                 // (1)
  T* gradient_;                 // (N, K) or null
  const Count correct_;
  std::vector<double> losses_;              // by row
  std::vector<int8_t> right_;               // by row
  std::vector<std::vector<float>> powers_;  // by thread: of one row, whole registers
};

std::vector<Operator> operators() {
  using enum Role;
  return {{"softTargetCrossEntropy",
           {{"logits", canonical}, {"target", canonical}},
           {{"loss", parameter}, {"gradient", canonical, true}, {"correct", count, true}},
           check_soft_target<Shapes>,
           make_typed<SoftTargetCrossEntropy>,
           {{1, 0}, {1, 1}}}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
