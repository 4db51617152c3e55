// Channels of several tensors side by side, and the gradient, which separates them again. One launch for each part.
#include <numeric>

#include "cuda/launch.h"
#include "cuda/operators/queued.h"
#include "cuda/tensors.h"

namespace arbalest::cuda {
namespace {

// Rows of `packs` packs, from rows of one width to rows of another.
template <class T, int V> struct CopyRows {
  const T* from;
  T* to;
  int from_packs, to_packs;  // of a row
  int packs;                 // that are copied

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t row = i / packs, pack = i % packs;
    write(to, row * to_packs + pack, read<T, V>(from, row * from_packs + pack));
  }
};

// body(part, its channels, the channels before it) for each part; tensors are (N, C, ...), channels last.
template <class Body> void for_parts(const OperatorSpec& spec, const Body& body) {
  size_t part = 0;
  int before = 0;
  for (const double channels : spec.attributes.list("channels")) {
    body(part++, static_cast<int>(channels), before);
    before += static_cast<int>(channels);
  }
}

template <class T, int V> struct Copies {
  std::vector<CopyRows<T, V>> parts;
  int64_t rows;

  void queue(DeviceStream& stream) const {
    for (const CopyRows<T, V>& part : parts) each(stream, rows * part.packs, part);
  }
};

// The greatest common divisor of all parts' bounds, in channels.
int64_t common_run(const OperatorSpec& spec, int64_t channels) {
  int64_t run = channels;
  for_parts(spec, [&](size_t, int own, int) { run = std::gcd(run, int64_t{own}); });
  return run;
}

MadeKernel make_concat(const OperatorSpec& spec, DeviceStream& stream) {
  const Image whole(channels_second(spec.outputs[0].shape()));
  return by_packs(spec.precision, common_run(spec, whole.c), [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    Copies<T, V> copies{{}, whole.rows()};
    for_parts(spec, [&](size_t part, int channels, int before) {
      copies.parts.push_back({spec.inputs.at(part).as<T>(), spec.outputs[0].as<T>() + before, channels / V, whole.c / V, channels / V});
    });
    return queued([&stream, copies] { copies.queue(stream); });
  });
}

MadeKernel make_concat_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image whole(channels_second(spec.inputs[0].shape()));
  return by_packs(spec.precision, common_run(spec, whole.c), [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    Copies<T, V> copies{{}, whole.rows()};
    for_parts(spec, [&](size_t part, int channels, int before) {
      if (spec.outputs.at(part))
        copies.parts.push_back({spec.inputs[0].as<T>() + before, spec.outputs[part].as<T>(), whole.c / V, channels / V, channels / V});
    });
    return queued([&stream, copies] { copies.queue(stream); });
  });
}

using enum Port;
const Registered kOperators{{
    {"concat", {parts}, {image}, make_concat},
    {"concatBackward", {image}, {parts}, make_concat_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
