#include "core/dropout_mask.h"
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

// Forward and backward are the same: x * mask / (1 - rate). Four neighbours of one sample in canonical order share one draw, so that a
// thread takes four; in nhwc they are four pixels of a channel.
template <class T> struct Dropout {
  const T* x;
  T* y;  // may be x
  const StepParameters* step;
  uint64_t stream;
  float rate, scale;
  int elements;  // of a sample
  int groups;    // of four, of a sample
  int channels;  // 1 where the sample lies in canonical order
  int pixels;

  EVERYWHERE void operator()(int64_t i) const {
    const int sample = static_cast<int>(i / groups), group = static_cast<int>(i % groups);
    const DropoutMask mask(step->seed, step->position + static_cast<uint64_t>(sample), stream, rate);
    const unsigned kept = mask.keeps4(static_cast<uint64_t>(group));
    for (int lane = 0; lane < 4; ++lane) {
      const int element = 4 * group + lane;
      if (element >= elements) return;
      const int64_t at = static_cast<int64_t>(sample) * elements + element % pixels * static_cast<int64_t>(channels) + element / pixels;
      y[at] = T((kept >> lane & 1u) != 0 ? float(x[at]) * scale : 0.0f);
    }
  }
};

MadeKernel make_dropout(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int64_t samples = shape[0], elements = elements_of(shape) / samples;
  const bool nhwc = spec.inputs[0].spec.layout == kNhwc;
  const int channels = nhwc ? static_cast<int>(shape[1]) : 1;
  const auto rate = static_cast<float>(spec.attributes.number("rate"));
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const Dropout<T> program{spec.inputs[0].as<T>(),
                             spec.outputs[0].as<T>(),
                             stream.parameters(),
                             static_cast<uint64_t>(spec.attributes.number("stream")),
                             rate,
                             static_cast<float>(1 / (1 - spec.attributes.number("rate"))),
                             static_cast<int>(elements),
                             static_cast<int>((elements + 3) / 4),
                             channels,
                             static_cast<int>(elements / channels)};
    return queued([&stream, samples, program] { each(stream, samples * program.groups, program); });
  });
}

// Of whole samples.
template <class T, int V> struct StochasticDepth {
  const T* x;
  T* y;  // may be x
  const StepParameters* step;
  uint64_t stream;
  float rate, scale;
  int packs;  // of a sample

  EVERYWHERE void operator()(int64_t i) const {
    const DropoutMask mask(step->seed, step->position + static_cast<uint64_t>(i / packs), stream, rate);
    const bool kept = mask.keeps_sample();
    Pack<T, V> values = read<T, V>(x, i);
    for (int v = 0; v < V; ++v) values.at[v] = T(kept ? float(values.at[v]) * scale : 0.0f);
    write(y, i, values);
  }
};

MadeKernel make_stochastic_depth(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t samples = spec.inputs[0].shape()[0], elements = elements_of(spec.inputs[0].shape()) / samples;
  return by_packs(spec.precision, elements, [&]<class P>(P) {
    using T = typename P::T;
    const StochasticDepth<T, P::V> program{spec.inputs[0].as<T>(),
                                           spec.outputs[0].as<T>(),
                                           stream.parameters(),
                                           static_cast<uint64_t>(spec.attributes.number("stream")),
                                           static_cast<float>(spec.attributes.number("rate")),
                                           static_cast<float>(1 / (1 - spec.attributes.number("rate"))),
                                           static_cast<int>(elements / P::V)};
    return queued([&stream, samples, program] { each(stream, samples * program.packs, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"dropout", {alike}, {alike}, make_dropout, {{0, 0}}},
    {"dropoutBackward", {alike}, {alike}, make_dropout, {{0, 0}}},
    {"stochasticDepth", {alike}, {alike}, make_stochastic_depth, {{0, 0}}},
}};

}  // namespace
}  // namespace arbalest::cuda
