// The mean over the rows of -sum_k t[k] log p[k] and its gradient, p[k] sum(t) - t[k] over the number of rows, for targets (N, K) that give
// every class a share: t has 1 - smoothing of it and smoothing / K besides, times the weight of the class. A block a row, then one block
// for the mean. A row counts as correct where its largest logit and its largest share are of the same class.
#include <cmath>
#include <limits>

#include "cuda/launch.h"
#include "cuda/operators/class_weights.h"
#include "cuda/operators/count.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

struct Row {
  float loss;
  int correct;
};

// The first of the largest of one thread's classes, and then of all; a thread without classes has place K.
struct Largest {
  float value;
  int place;

  EVERYWHERE bool is_before(const Largest& other) const { return value > other.value || (value == other.value && place < other.place); }
};

template <class T> struct SoftTargetRows {
  static constexpr int kLevels = 8;
  // Each thread's largest; the largest of all; each thread's sums; the sums of all; the results.
  static constexpr int kSums = kLevels + 1, kPhases = kSums + kLevels + 2;
  struct Peaks {
    Largest logit, share;
  };
  // Of exp(z - highest), t, and t (z - highest).
  struct Sums {
    float powers, shares, below;
  };
  struct Shared {
    Peaks peaks[kThreads];
    Sums sums[kThreads];
  };

  const T *logits, *target;  // (N, K)
  T* gradient;               // (N, K) or null; may be logits or target
  Row* rows;                 // (N)
  int count, classes;
  float smoothing;
  ClassWeights weights;

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      shared.peaks[thread] = peaks_of(block, thread);
    } else if (phase <= kLevels) {
      if (const int stride = kThreads >> phase; thread < stride) {
        Peaks &own = shared.peaks[thread], &other = shared.peaks[thread + stride];
        if (other.logit.is_before(own.logit)) own.logit = other.logit;
        if (other.share.is_before(own.share)) own.share = other.share;
      }
    } else if (phase == kSums) {
      shared.sums[thread] = sums_of(block, thread, shared.peaks[0].logit.value);
    } else if (phase <= kSums + kLevels) {
      if (const int stride = kThreads >> (phase - kSums); thread < stride) {
        Sums &own = shared.sums[thread], &other = shared.sums[thread + stride];
        own = {own.powers + other.powers, own.shares + other.shares, own.below + other.below};
      }
    } else {
      finish(block, thread, shared.peaks[0], shared.sums[0]);
    }
  }

 private:
  EVERYWHERE float target_of(int64_t i, int k) const {
    return ((1 - smoothing) * float(target[i]) + smoothing / static_cast<float>(classes)) * weights[k];
  }

  EVERYWHERE Peaks peaks_of(int64_t row, int thread) const {
    constexpr float kLeast = -std::numeric_limits<float>::infinity();
    Peaks found{{kLeast, classes}, {kLeast, classes}};
    for (int k = thread; k < classes; k += kThreads) {
      const Largest logit{float(logits[row * classes + k]), k}, share{float(target[row * classes + k]), k};
      if (logit.is_before(found.logit)) found.logit = logit;
      if (share.is_before(found.share)) found.share = share;
    }
    return found;
  }

  EVERYWHERE Sums sums_of(int64_t row, int thread, float highest) const {
    Sums found{};
    for (int k = thread; k < classes; k += kThreads) {
      const int64_t i = row * classes + k;
      const float distance = float(logits[i]) - highest, t = target_of(i, k);
      found.powers += expf(distance);
      found.shares += t;
      // A class that counts for nothing may have a logit of minus infinity.
      if (t != 0) found.below += t * distance;
    }
    return found;
  }

  EVERYWHERE void finish(int64_t row, int thread, const Peaks& peaks, const Sums& sums) const {
    if (gradient)
      for (int k = thread; k < classes; k += kThreads) {
        const int64_t i = row * classes + k;
        const float probability = expf(float(logits[i]) - peaks.logit.value) / sums.powers;
        gradient[i] = T((probability * sums.shares - target_of(i, k)) / static_cast<float>(count));
      }
    // The sum of powers is no number where a logit is none.
    if (thread == 0)
      rows[row] = {sums.shares * logf(sums.powers) - sums.below, sums.powers == sums.powers && peaks.logit.place == peaks.share.place};
  }
};

struct MeanOfRows {
  using Sum = Row;

  const Row* rows;  // (N)
  float* loss;      // (1)
  Count correct;
  int count;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t, int thread) const {
    Sum found{};
    for (int n = thread; n < count; n += kThreads) found = sum(found, rows[n]);
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return {a.loss + b.loss, a.correct + b.correct}; }
  EVERYWHERE void finish(int64_t, int, const Sum& sum) const {
    *loss = sum.loss / static_cast<float>(count);
    correct.store(sum.correct);
  }
};

size_t scratch_of(const Shape& logits) { return static_cast<size_t>(elements_of(logits) / logits.back()) * sizeof(Row); }

MadeKernel make_soft_target_cross_entropy(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int classes = static_cast<int>(shape.back()), count = static_cast<int>(elements_of(shape) / shape.back());
  auto* const rows = static_cast<Row*>(spec.scratch);
  const MeanOfRows mean{rows, spec.outputs[0].as<float>(), Count(spec.outputs[2]), count};
  const auto smoothing = static_cast<float>(spec.attributes.number("smoothing", 0));
  const ClassWeightsMemory memory(spec, stream);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SoftTargetRows<T> program{
        spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[1].as<T>(), rows, count, classes, smoothing, memory.weights()};
    return queued([&stream, memory, program, mean] {
      blocks(stream, mean.count, program);
      reduce(stream, 1, mean);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"softTargetCrossEntropy",
     {rows, rows},
     {wide, rows, own},
     make_soft_target_cross_entropy,
     {{1, 0}, {1, 1}},
     by_first_input<scratch_of>},
}};

}  // namespace
}  // namespace arbalest::cuda
