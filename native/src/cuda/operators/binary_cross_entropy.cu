// The mean over all elements of the negative log-likelihood of the target, from 0 to 1, under the logistic function of the logit. One block
// for each sample, then one for the mean. What holds may count more or less than 1, by its label. A sample counts as correct if every logit
// is on its target's side.
#include <cmath>

#include "core/labels_of.h"
#include "cuda/launch.h"
#include "cuda/layouts.h"
#include "cuda/operators/class_weights.h"
#include "cuda/operators/count.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

// How much each element counts where it holds.
struct PositiveWeights {
  ClassWeights of_labels;
  int64_t together, count;  // elements of a label that lie together; labels

  EVERYWHERE float operator[](int64_t element) const { return of_labels[static_cast<int>(element / together % count)]; }
};

PositiveWeights positive_weights(const OperatorSpec& spec, const ClassWeights& of_labels) {
  const LabelsOf labels(spec.inputs[0].shape());
  return {of_labels, channels_last(spec.inputs[0].spec) ? 1 : labels.together, labels.count};
}

// Of a sample: the sum of its losses and the number of wrong elements. Of all: the sum of losses and the number of wrong samples.
struct Losses {
  float sum;
  int wrong;
};

template <class T> struct SampleLosses {
  using Sum = Losses;

  const T *logits, *target;  // (N, elements)
  Losses* samples;           // (N)
  int64_t elements;          // of a sample
  PositiveWeights weights;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t sample, int thread) const {
    Sum found{};
    for (int64_t at = thread; at < elements; at += kThreads) {
      const float x = float(logits[sample * elements + at]), t = float(target[sample * elements + at]);
      const float unlikely = log1pf(expf(-fabsf(x)));  // -log of the likelier answer
      found.sum += (x < 0 ? 0 : x) - t * x + unlikely;
      if (weights.of_labels.each) found.sum += (weights[at] - 1) * t * ((x < 0 ? -x : 0) + unlikely);
      found.wrong += !(x == x && (x > 0) == (t > 0.5f));
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return {a.sum + b.sum, a.wrong + b.wrong}; }
  EVERYWHERE void finish(int64_t sample, int, const Sum& sum) const { samples[sample] = {sum.sum, sum.wrong > 0}; }
};

struct MeanOfSamples {
  using Sum = Losses;

  const Losses* samples;  // (N)
  float* loss;            // (1)
  Count correct;
  int count;
  int64_t elements;  // of a sample
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t, int thread) const {
    Sum found{};
    for (int n = thread; n < count; n += kThreads) found = sum(found, samples[n]);
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return {a.sum + b.sum, a.wrong + b.wrong}; }
  EVERYWHERE void finish(int64_t, int, const Sum& sum) const {
    *loss = sum.sum / (static_cast<float>(count) * static_cast<float>(elements));
    correct.store(count - sum.wrong);
  }
};

template <class T> struct BinaryCrossEntropyBackward {
  const T *logits, *target;  // (elements)
  T* glogits;                // (elements); may be either
  float elements;
  int64_t of_sample;
  PositiveWeights weights;

  EVERYWHERE void operator()(int64_t i) const {
    const float x = float(logits[i]), t = float(target[i]);
    float difference = 1 / (1 + expf(-x)) - t;
    if (weights.of_labels.each) difference -= (weights[i % of_sample] - 1) * t / (1 + expf(x));
    glogits[i] = T(difference / elements);
  }
};

size_t binary_cross_entropy_scratch(const Shape& logits) { return static_cast<size_t>(logits[0]) * sizeof(Losses); }

MadeKernel make_binary_cross_entropy(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int64_t elements = elements_of(shape) / shape[0];
  auto* const samples = static_cast<Losses*>(spec.scratch);
  const MeanOfSamples mean{samples, spec.outputs[0].as<float>(), Count(spec.outputs[1]), static_cast<int>(shape[0]), elements};
  const ClassWeightsMemory memory(spec, stream);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SampleLosses<T> losses{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), samples, elements,
                                 positive_weights(spec, memory.weights())};
    return queued([&stream, memory, losses, mean] {
      reduce(stream, mean.count, losses);
      reduce(stream, 1, mean);
    });
  });
}

MadeKernel make_binary_cross_entropy_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  const ClassWeightsMemory memory(spec, stream);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const BinaryCrossEntropyBackward<T> program{spec.inputs[0].as<T>(),
                                                spec.inputs[1].as<T>(),
                                                spec.outputs[0].as<T>(),
                                                static_cast<float>(elements),
                                                elements / spec.inputs[0].shape()[0],
                                                positive_weights(spec, memory.weights())};
    return queued([&stream, memory, elements, program] { each(stream, elements, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"binaryCrossEntropy", {alike, alike}, {wide, own}, make_binary_cross_entropy, {}, by_first_input<binary_cross_entropy_scratch>},
    {"binaryCrossEntropyBackward", {alike, alike}, {alike}, make_binary_cross_entropy_backward, {{0, 0}, {0, 1}}},
}};

}  // namespace
}  // namespace arbalest::cuda
