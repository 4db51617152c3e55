// The mean over a batch of -log softmax(logits)[target], and the softmax less 1 at the target; classes may have weights, by which the mean
// is then taken. A block a sample, then one block for the mean. A target that is not a class makes the loss NaN, which ends the run with
// LOSS_NOT_FINITE: a kernel cannot throw. Where a sample has several rows, any of them may have no class: it counts for nothing, and the
// mean is over the others, or with `ofAll` their sum divided by all rows.
#include <cmath>
#include <limits>

#include "core/no_class.h"
#include "cuda/launch.h"
#include "cuda/operators/class_weights.h"
#include "cuda/operators/count.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

// The results of a sample that the first kernel leaves to the second.
struct Row {
  float loss, weight;
  int correct, among_top;
};

// The targets (N) of logits (..., K).
struct Targets {
  const int32_t* targets;
  int rows;
  bool may_lack;

  EVERYWHERE bool has_class(int64_t row) const { return !may_lack || targets[row] != kNoClass; }
  EVERYWHERE int32_t operator[](int64_t row) const { return targets[row]; }
};

Targets targets_of(const OperatorSpec& spec) {
  const Shape& logits = spec.inputs[0].shape();
  return {spec.inputs[1].as<int32_t>(), static_cast<int>(elements_of(logits) / logits.back()), logits.size() > 2};
}

// What the sum of all rows is divided by: nothing where none counts.
EVERYWHERE float divisor(float weights) { return weights > 0 ? weights : 1; }

// Of the classes of one thread, and then of all: `others` is the sum of exp(z - highest) but for the 1 of the highest itself, which would
// leave it no digits where a sample is classified surely. `target` is the target's logit.
struct Softmax {
  float highest, others, target;
  int index;
};

// Of the classes of one thread, and then of all: how many come before the target, and the sum of weight * (z - highest), whose summands
// stay small.
struct Standing {
  int better;
  float below;
};

template <class T> struct SoftmaxRows {
  static constexpr int kLevels = 8;
  // Each thread's classes; their sum; what they are to the target and the highest; that sum; the results.
  static constexpr int kCounts = kLevels + 1, kPhases = kCounts + kLevels + 2;
  struct Shared {
    Softmax sums[kThreads];
    Standing standings[kThreads];
  };

  const T* logits;  // (N, K)
  Targets target;
  T* differences;  // (N, K) or null; may be logits
  Row* rows;       // (N)
  int classes, top;
  float smoothing;
  ClassWeights weights;

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      shared.sums[thread] = partial(block, thread);
    } else if (phase <= kLevels) {
      if (const int stride = kThreads >> phase; thread < stride)
        shared.sums[thread] = sum(shared.sums[thread], shared.sums[thread + stride]);
    } else if (phase == kCounts) {
      shared.standings[thread] = standing(block, thread, shared.sums[0]);
    } else if (phase <= kCounts + kLevels) {
      if (const int stride = kThreads >> (phase - kCounts); thread < stride) {
        shared.standings[thread].better += shared.standings[thread + stride].better;
        shared.standings[thread].below += shared.standings[thread + stride].below;
      }
    } else {
      finish(block, thread, shared.sums[0], shared.standings[0]);
    }
  }

 private:
  // exp(z - highest). A logit of minus infinity counts nothing, also where a thread has no higher one.
  EVERYWHERE static float power(float z, float highest) { return z == -std::numeric_limits<float>::infinity() ? 0 : expf(z - highest); }

  EVERYWHERE Softmax partial(int64_t sample, int thread) const {
    const T* z = logits + sample * classes;
    Softmax found{-std::numeric_limits<float>::infinity(), 0, 0, classes};
    for (int k = thread; k < classes; k += kThreads) {
      const float value = float(z[k]);
      if (k == target[sample]) found.target = value;
      if (found.index < classes && !(value > found.highest)) continue;
      found.highest = value;
      found.index = k;
    }
    for (int k = thread; k < classes; k += kThreads)
      if (k != found.index) found.others += power(float(z[k]), found.highest);
    return found;
  }

  // The first of the largest wins; a thread without classes has index K.
  EVERYWHERE Softmax sum(const Softmax& a, const Softmax& b) const {
    if (b.index == classes) return a;
    const bool right = b.highest > a.highest || (b.highest == a.highest && b.index < a.index);
    const Softmax &most = right ? b : a, &least = right ? a : b;
    return {most.highest, most.others + (1 + least.others) * power(least.highest, most.highest), a.target + b.target, most.index};
  }

  // Before the target come larger logits, and of equal ones the first.
  EVERYWHERE Standing standing(int64_t sample, int thread, const Softmax& all) const {
    Standing found{0, 0};
    UNROLLED(2)  // by more, a register would be spilled
    for (int k = thread; k < classes; k += kThreads) {
      const float value = float(logits[sample * classes + k]);
      found.better += !(value <= all.target) || (value == all.target && k < target[sample]);
      if (smoothing > 0) found.below += weights[k] * (value - all.highest);
    }
    return found;
  }

  EVERYWHERE void finish(int64_t sample, int thread, const Softmax& all, const Standing& found) const {
    if (!target.has_class(sample)) {
      if (differences)
        for (int k = thread; k < classes; k += kThreads) differences[sample * classes + k] = T(0.0f);
      if (thread == 0) rows[sample] = {0, 0, 0, 0};
      return;
    }
    if (differences)
      for (int k = thread; k < classes; k += kThreads) {
        const float power = expf(float(logits[sample * classes + k]) - all.highest);
        differences[sample * classes + k] = T((k == target[sample] ? power - 1 - all.others : power) / (1 + all.others));
      }
    if (thread != 0) return;
    const bool known = target[sample] >= 0 && target[sample] < classes;
    const float weight = known ? weights[target[sample]] : 1;
    const float own = (1 - smoothing) * weight, spread = smoothing > 0 ? smoothing * found.below / static_cast<float>(classes) : 0.0f;
    const float loss = (own + smoothing * weights.mean) * log1pf(all.others) - own * (all.target - all.highest) - spread;
    rows[sample] = {known ? loss : std::numeric_limits<float>::quiet_NaN(), weight, known && found.better == 0,
                    known && found.better < top};
  }
};

struct MeanOfRows {
  using Sum = Row;

  const Row* rows;  // (N)
  float* loss;      // (1)
  Count correct, among_top;
  int samples;
  bool of_all;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t, int thread) const {
    Sum found{0, 0, 0, 0};
    for (int n = thread; n < samples; n += kThreads) found = sum(found, rows[n]);
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) {
    return {a.loss + b.loss, a.weight + b.weight, a.correct + b.correct, a.among_top + b.among_top};
  }
  EVERYWHERE void finish(int64_t, int, const Sum& sum) const {
    *loss = sum.loss / (of_all ? static_cast<float>(samples) : divisor(sum.weight));
    correct.store(sum.correct);
    among_top.store(sum.among_top);
  }
};

// An element of the gradient: that of -sum_j t[j] log p[j] is p[k] sum(t) - t[k], and p is the differences, and 1 more at the label.
template <class T> struct SoftmaxCrossEntropyBackward {
  const T* differences;  // (N, K)
  Targets target;
  T* glogits;  // (N, K); may be differences
  int classes;
  float smoothing;
  ClassWeights weights;

  EVERYWHERE void operator()(int64_t i) const { put(i, static_cast<float>(target.rows)); }

  EVERYWHERE void put(int64_t i, float whole) const {
    const int64_t row = i / classes;
    if (!target.has_class(row)) {
      glogits[i] = T(0.0f);
      return;
    }
    const int k = static_cast<int>(i % classes);
    const float own = weight_of(row), sum = own + smoothing * (weights.mean - own);
    const float smoothed = (k == target[row] ? smoothing * weights.mean : 0.0f) - smoothing * weights[k] / static_cast<float>(classes);
    glogits[i] = T((float(differences[i]) * sum + smoothed) / whole);
  }

  // A target that is not a class has made the loss NaN.
  EVERYWHERE float weight_of(int64_t row) const {
    const int label = target[row];
    return label >= 0 && label < classes ? weights[label] : 0;
  }
};

// Where rows may lack a class, or classes have weights. Each block sums those of all rows: that is read from the L2 cache, and takes less
// time than a launch more.
template <class T> struct SoftmaxCrossEntropyBackwardOfSome {
  static constexpr int kLevels = 8, kPhases = kLevels + 2;
  // Elements of a thread: the more, the fewer blocks count.
  static constexpr int kOfThread = 8;
  struct Shared {
    float weights[kThreads];
  };

  SoftmaxCrossEntropyBackward<T> each;

  EVERYWHERE int64_t elements() const { return int64_t{each.target.rows} * each.classes; }
  EVERYWHERE int64_t blocks() const { return (elements() + kOfThread * kThreads - 1) / (kOfThread * kThreads); }

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      float found = 0;
      for (int row = thread; row < each.target.rows; row += kThreads) found += each.target.has_class(row) ? each.weight_of(row) : 0;
      shared.weights[thread] = found;
    } else if (phase <= kLevels) {
      if (const int stride = kThreads >> phase; thread < stride) shared.weights[thread] += shared.weights[thread + stride];
    } else {
      for (int own = 0; own < kOfThread; ++own)
        if (const int64_t i = (block * kOfThread + own) * kThreads + thread; i < elements()) each.put(i, divisor(shared.weights[0]));
    }
  }
};

size_t softmax_cross_entropy_scratch(const Shape& logits) { return static_cast<size_t>(elements_of(logits) / logits.back()) * sizeof(Row); }

MadeKernel make_softmax_cross_entropy(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int classes = static_cast<int>(shape.back());
  const Targets target = targets_of(spec);
  auto* const rows = static_cast<Row*>(spec.scratch);
  const MeanOfRows mean{rows,
                        spec.outputs[0].as<float>(),
                        Count(spec.outputs[2]),
                        Count(spec.outputs[3]),
                        target.rows,
                        spec.attributes.number("ofAll", 0) != 0};
  const int top = static_cast<int>(spec.attributes.number("top", 1));
  const auto smoothing = static_cast<float>(spec.attributes.number("smoothing", 0));
  const ClassWeightsMemory memory(spec, stream);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SoftmaxRows<T> program{spec.inputs[0].as<T>(), target, spec.outputs[1].as<T>(), rows, classes, top, smoothing, memory.weights()};
    return queued([&stream, memory, program, mean] {
      blocks(stream, mean.samples, program);
      reduce(stream, 1, mean);
    });
  });
}

MadeKernel make_softmax_cross_entropy_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const int classes = static_cast<int>(spec.inputs[0].shape().back());
  const Targets target = targets_of(spec);
  const auto smoothing = static_cast<float>(spec.attributes.number("smoothing", 0));
  const ClassWeightsMemory memory(spec, stream);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SoftmaxCrossEntropyBackward<T> program{spec.inputs[0].as<T>(), target, spec.outputs[0].as<T>(), classes, smoothing,
                                                 memory.weights()};
    const SoftmaxCrossEntropyBackwardOfSome<T> of_some{program};
    return queued([&stream, memory, program, of_some] {
      if (program.target.may_lack || program.weights.each)
        blocks(stream, of_some.blocks(), of_some);
      else
        each(stream, of_some.elements(), program);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"softmaxCrossEntropy",
     {rows, own},
     {wide, rows, own, own},
     make_softmax_cross_entropy,
     {{1, 0}},
     by_first_input<softmax_cross_entropy_scratch>},
    {"softmaxCrossEntropyBackward", {rows, own}, {image}, make_softmax_cross_entropy_backward, {{0, 0}}},
}};

}  // namespace
}  // namespace arbalest::cuda
