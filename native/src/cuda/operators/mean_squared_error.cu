#include <algorithm>

#include "cuda/launch.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

constexpr int64_t kMostChunks = 128, kChunk = 16 * kThreads;

int64_t chunks_of(int64_t elements) { return std::clamp<int64_t>(elements / kChunk, 1, kMostChunks); }

template <class T> struct SquaredErrors {
  using Sum = float;

  const T *prediction, *target;  // (elements)
  float* partials;               // (chunks)
  int64_t elements, chunks;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    Sum found = 0;
    for (int64_t i = block * kThreads + thread; i < elements; i += chunks * kThreads) {
      const float difference = float(prediction[i]) - float(target[i]);
      found += difference * difference;
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return a + b; }
  EVERYWHERE void finish(int64_t block, int, const Sum& sum) const { partials[block] = sum; }
};

struct MeanOfChunks {
  using Sum = float;

  const float* partials;  // (chunks)
  float* loss;            // (1)
  int64_t elements, chunks;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t, int thread) const {
    Sum found = 0;
    for (int64_t i = thread; i < chunks; i += kThreads) found += partials[i];
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return a + b; }
  EVERYWHERE void finish(int64_t, int, const Sum& sum) const { *loss = sum / static_cast<float>(elements); }
};

template <class T> struct MeanSquaredErrorBackward {
  const T *prediction, *target;  // (elements)
  T* gprediction;                // (elements); may be prediction
  float scale;

  EVERYWHERE void operator()(int64_t i) const { gprediction[i] = T(scale * (float(prediction[i]) - float(target[i]))); }
};

size_t mean_squared_error_scratch(const Shape& prediction) {
  return static_cast<size_t>(chunks_of(elements_of(prediction))) * sizeof(float);
}

MadeKernel make_mean_squared_error(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape()), chunks = chunks_of(elements);
  auto* const partials = static_cast<float*>(spec.scratch);
  const MeanOfChunks mean{partials, spec.outputs[0].as<float>(), elements, chunks};
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SquaredErrors<T> errors{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), partials, elements, chunks};
    return queued([&stream, errors, mean] {
      reduce(stream, errors.chunks, errors);
      reduce(stream, 1, mean);
    });
  });
}

MadeKernel make_mean_squared_error_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const MeanSquaredErrorBackward<T> program{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>(),
                                              2.0f / static_cast<float>(elements)};
    return queued([&stream, elements, program] { each(stream, elements, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"meanSquaredError", {alike, alike}, {wide}, make_mean_squared_error, {}, by_first_input<mean_squared_error_scratch>},
    {"meanSquaredErrorBackward", {alike, alike}, {alike}, make_mean_squared_error_backward, {{0, 0}}},
}};

}  // namespace
}  // namespace arbalest::cuda
