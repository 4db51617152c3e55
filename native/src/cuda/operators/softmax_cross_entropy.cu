// The mean over a batch of -log softmax(logits)[target], and the softmax less 1 at the target. A block a sample, then one block for the
// mean. A target that is not a class makes the loss NaN, which ends the run with LOSS_NOT_FINITE: a kernel cannot throw.
#include <cmath>
#include <limits>

#include "cuda/launch.h"
#include "cuda/operators/count.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

// The results of a sample that the first kernel leaves to the second.
struct Row {
  float loss;
  int correct, among_top;
};

// Of the classes of one thread, and then of all: `sum` is of exp(z - highest), `target` is the target's logit.
struct Softmax {
  float highest, sum, target;
  int index;
};

// Of the classes of one thread, and then of all: how many come before the target, and the sum of z - highest, whose summands stay small.
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

  const T* logits;        // (N, K)
  const int32_t* target;  // (N)
  T* differences;         // (N, K) or null; may be logits
  Row* rows;              // (N)
  int classes, top;
  float smoothing;

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
    for (int k = thread; k < classes; k += kThreads) found.sum += power(float(z[k]), found.highest);
    return found;
  }

  // The first of the largest wins; a thread without classes has index K.
  EVERYWHERE Softmax sum(const Softmax& a, const Softmax& b) const {
    if (b.index == classes) return a;
    const bool right = b.highest > a.highest || (b.highest == a.highest && b.index < a.index);
    const Softmax &most = right ? b : a, &least = right ? a : b;
    return {most.highest, most.sum + least.sum * power(least.highest, most.highest), a.target + b.target, most.index};
  }

  // Before the target come larger logits, and of equal ones the first.
  EVERYWHERE Standing standing(int64_t sample, int thread, const Softmax& all) const {
    Standing found{0, 0};
    for (int k = thread; k < classes; k += kThreads) {
      const float value = float(logits[sample * classes + k]);
      found.better += !(value <= all.target) || (value == all.target && k < target[sample]);
      found.below += value - all.highest;
    }
    return found;
  }

  EVERYWHERE void finish(int64_t sample, int thread, const Softmax& all, const Standing& found) const {
    if (differences)
      for (int k = thread; k < classes; k += kThreads) {
        const float power = expf(float(logits[sample * classes + k]) - all.highest);
        differences[sample * classes + k] = T((k == target[sample] ? power - all.sum : power) / all.sum);
      }
    if (thread != 0) return;
    const bool known = target[sample] >= 0 && target[sample] < classes;
    const float mean = found.below / static_cast<float>(classes);
    const float loss = logf(all.sum) - (1 - smoothing) * (all.target - all.highest) - (smoothing > 0 ? smoothing * mean : 0.0f);
    rows[sample] = {known ? loss : std::numeric_limits<float>::quiet_NaN(), known && found.better == 0, known && found.better < top};
  }
};

struct MeanOfRows {
  using Sum = Row;

  const Row* rows;  // (N)
  float* loss;      // (1)
  Count correct, among_top;
  int samples;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t, int thread) const {
    Sum found{0, 0, 0};
    for (int n = thread; n < samples; n += kThreads) found = sum(found, rows[n]);
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return {a.loss + b.loss, a.correct + b.correct, a.among_top + b.among_top}; }
  EVERYWHERE void finish(int64_t, int, const Sum& sum) const {
    *loss = sum.loss / static_cast<float>(samples);
    correct.store(sum.correct);
    among_top.store(sum.among_top);
  }
};

template <class T> struct SoftmaxCrossEntropyBackward {
  const T* differences;   // (N, K)
  const int32_t* target;  // (N)
  T* glogits;             // (N, K); may be differences
  int samples, classes;
  float smoothing;

  EVERYWHERE void operator()(int64_t i) const {
    const bool own = i % classes == target[i / classes];
    const float smoothed = (own ? smoothing : 0.0f) - smoothing / static_cast<float>(classes);
    glogits[i] = T((float(differences[i]) + smoothed) / static_cast<float>(samples));
  }
};

size_t softmax_cross_entropy_scratch(const Shape& logits) { return static_cast<size_t>(elements_of(logits) / logits.back()) * sizeof(Row); }

MadeKernel make_softmax_cross_entropy(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int classes = static_cast<int>(shape.back()), samples = static_cast<int>(elements_of(shape) / classes);
  auto* const rows = static_cast<Row*>(spec.scratch);
  const MeanOfRows mean{rows, spec.outputs[0].as<float>(), Count(spec.outputs[2]), Count(spec.outputs[3]), samples};
  const int top = static_cast<int>(spec.attributes.number("top", 1));
  const auto smoothing = static_cast<float>(spec.attributes.number("smoothing", 0));
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SoftmaxRows<T> program{
        spec.inputs[0].as<T>(), spec.inputs[1].as<int32_t>(), spec.outputs[1].as<T>(), rows, classes, top, smoothing};
    return queued([&stream, program, mean] {
      blocks(stream, mean.samples, program);
      reduce(stream, 1, mean);
    });
  });
}

MadeKernel make_softmax_cross_entropy_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int classes = static_cast<int>(shape.back()), samples = static_cast<int>(elements_of(shape) / classes);
  const auto smoothing = static_cast<float>(spec.attributes.number("smoothing", 0));
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SoftmaxCrossEntropyBackward<T> program{
        spec.inputs[0].as<T>(), spec.inputs[1].as<int32_t>(), spec.outputs[0].as<T>(), samples, classes, smoothing};
    return queued([&stream, program] { each(stream, static_cast<int64_t>(program.samples) * program.classes, program); });
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
