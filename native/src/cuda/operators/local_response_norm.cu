// Local response normalisation across channels, as PyTorch defines it: y = x * s^-beta with s = k + alpha / size * sum of x^2 over a window
// of channels (Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", NeurIPS 2012).
#include <cmath>

#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T> struct Channels {
  const T* x;  // (rows, C)
  int channels, size;
  float alpha, beta, k;

  EVERYWHERE float scale(int64_t i) const {
    const int c = static_cast<int>(i % channels);
    const T* row = x + (i - c);
    // The window is cut off at both ends.
    const int first = c - size / 2 < 0 ? 0 : c - size / 2, last = c + (size - 1) / 2;
    float sum = 0;
    for (int d = first; d <= last && d < channels; ++d) sum += float(row[d]) * float(row[d]);
    return k + alpha / static_cast<float>(size) * sum;
  }
};

template <class T> struct LocalResponseNorm {
  Channels<T> from;
  T* y;  // (rows, C)

  EVERYWHERE void operator()(int64_t i) const { y[i] = T(float(from.x[i]) * powf(from.scale(i), -from.beta)); }
};

// The summand of each result's gradient for every channel of its window: gy * x * s^(-beta - 1).
template <class T> struct WindowGradients {
  Channels<T> from;
  const T* gy;   // (rows, C)
  float* given;  // (rows, C)

  EVERYWHERE void operator()(int64_t i) const { given[i] = float(gy[i]) * float(from.x[i]) * powf(from.scale(i), -from.beta - 1); }
};

template <class T> struct LocalResponseNormBackward {
  Channels<T> from;
  const T* gy;         // (rows, C)
  const float* given;  // (rows, C)
  T* gx;               // (rows, C); may be gy

  EVERYWHERE void operator()(int64_t i) const {
    const int c = static_cast<int>(i % from.channels);
    const float* row = given + (i - c);
    // The windows that channel c is in are those of the channels from c - (size - 1) / 2 to c + size / 2.
    const int reach = (from.size - 1) / 2, first = c - reach < 0 ? 0 : c - reach, last = c + from.size / 2;
    float others = 0;
    for (int d = first; d <= last && d < from.channels; ++d) others += row[d];
    const float own = float(gy[i]) * powf(from.scale(i), -from.beta);
    gx[i] = T(own - 2 * from.alpha * from.beta / static_cast<float>(from.size) * float(from.x[i]) * others);
  }
};

template <class T> Channels<T> channels_of(const OperatorSpec& spec) {
  const auto number = [&](const char* name) { return static_cast<float>(spec.attributes.number(name)); };
  return {spec.inputs[0].as<T>(),
          Image(spec.inputs[0].shape()).c,
          whole(spec.attributes, "size"),
          number("alpha"),
          number("beta"),
          number("k")};
}

size_t local_response_norm_backward_scratch(const Shape& x) { return static_cast<size_t>(elements_of(x)) * sizeof(float); }

MadeKernel make_local_response_norm(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const LocalResponseNorm<T> program{channels_of<T>(spec), spec.outputs[0].as<T>()};
    return queued([&stream, elements, program] { each(stream, elements, program); });
  });
}

MadeKernel make_local_response_norm_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  auto* const given = static_cast<float*>(spec.scratch);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const Channels<T> from = channels_of<T>(spec);
    const WindowGradients<T> windows{from, spec.inputs[1].as<T>(), given};
    const LocalResponseNormBackward<T> program{from, spec.inputs[1].as<T>(), given, spec.outputs[0].as<T>()};
    return queued([&stream, elements, windows, program] {
      each(stream, elements, windows);
      each(stream, elements, program);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"localResponseNorm", {image}, {image}, make_local_response_norm},
    {"localResponseNormBackward",
     {image, image},
     {image},
     make_local_response_norm_backward,
     {{0, 1}},
     by_first_input<local_response_norm_backward_scratch>},
}};

}  // namespace
}  // namespace arbalest::cuda
