// The gradients of recurrent layers with respect to what each position was given, from the last position that was computed to the first,
// by one launch.
#include <cmath>

#include "cuda/operators/queued.h"
#include "cuda/operators/recurrent.h"

namespace arbalest::cuda {
namespace {

template <class Number> struct Lstm {
  using T = Number;
  static constexpr int kGates = 4;

  const T* gates;      // (N, T, 4F): i, f, g, o
  const float* cells;  // (N, T, F)
  T* gx;               // (N, T, 4F); may be gates

  // `gy` is the whole gradient of a feature's result at position `at`, the one before which is `before`, or -1. `carried` is the
  // gradient of the cell, which is replaced by that at the position before. Writes the gradients whose product with w goes there.
  template <class Found>
  EVERYWHERE void step(int64_t at, int64_t before, int f, int features, float gy, float& carried, const Found& found) const {
    const auto gate = [&](int number) { return float(gates[(at * kKeptGates + number) * features + f]); };
    const float i = gate(0), forget = gate(1), g = gate(2), o = gate(3);
    const float squashed = tanhf(cells[at * features + f]), last = before < 0 ? 0 : cells[before * features + f];
    const float gc = carried + gy * o * (1 - squashed * squashed);
    carried = gc * forget;
    put(at, f, features, {gc * g * i * (1 - i), gc * last * forget * (1 - forget), gc * i * (1 - g * g), gy * squashed * o * (1 - o)},
        found);
  }
  template <class Found> EVERYWHERE void skip(int64_t at, int f, int features, const Found& found) const {
    put(at, f, features, {}, found);
  }
  // What the position after gave, of which nothing comes from its result itself.
  EVERYWHERE static float of_result(float) { return 0; }

 private:
  template <class Found> EVERYWHERE void put(int64_t at, int f, int features, const float (&gradients)[kGates], const Found& found) const {
    for (int number = 0; number < kGates; ++number) {
      const T rounded(gradients[number]);
      gx[(at * kGates + number) * features + f] = rounded;
      found(number, float(rounded));
    }
  }
};

template <class Number> struct Gru {
  using T = Number;
  static constexpr int kGates = 3;

  const T* gates;     // (N, T, 4F): r, z, n, what the state gave to n
  const T* previous;  // (N, T, F)
  T *gx, *gs;         // (N, T, 3F)

  // `carried` is what the result at this position passes on to the state before.
  template <class Found>
  EVERYWHERE void step(int64_t at, int64_t, int f, int features, float gy, float& carried, const Found& found) const {
    const auto gate = [&](int number) { return float(gates[(at * kKeptGates + number) * features + f]); };
    const float r = gate(0), z = gate(1), n = gate(2), held = gate(3);
    const float gn = gy * (1 - z) * (1 - n * n);
    carried = gy * z;
    put(at, f, features, {gn * held * r * (1 - r), gy * (float(previous[at * features + f]) - n) * z * (1 - z), gn}, r, found);
  }
  template <class Found> EVERYWHERE void skip(int64_t at, int f, int features, const Found& found) const {
    put(at, f, features, {}, 0, found);
  }
  EVERYWHERE static float of_result(float carried) { return carried; }

 private:
  template <class Found>
  EVERYWHERE void put(int64_t at, int f, int features, const float (&gradients)[kGates], float r, const Found& found) const {
    for (int number = 0; number < kGates; ++number) {
      const int64_t to = (at * kGates + number) * features + f;
      const T of_state(number == 2 ? gradients[number] * r : gradients[number]);
      gx[to] = T(gradients[number]);
      gs[to] = of_state;
      found(number, float(of_state));
    }
  }
};

// Two phases a step: each feature, then the product with w.
template <class Cell, int S> struct Backward {
  static constexpr int kMinBlocks = 2;
  using T = typename Cell::T;
  struct Own {};

  Sequences of;
  StateProducts<S> products;
  const T* w;   // (rows, F)
  const T* gy;  // (N, T, F)
  Cell cell;

  static StateProducts<S> products_of(int features) { return {features, Cell::kGates * features}; }
  static size_t bytes(int features) {
    const StateProducts<S> of_states = products_of(features);
    return sizeof(float) * static_cast<size_t>(of_states.numbers() + S * (of_states.depth + features));
  }
  size_t shared_bytes() const { return bytes(of.features); }
  EVERYWHERE int phases() const { return 2 * of.length - 1; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own&) const {
    const int step = of.length - 1 - phase / 2, features = of.features;
    float* const sums = reinterpret_cast<float*>(block.own());
    float* const gradients = sums + products.numbers();     // (rows, S)
    float* const carried = gradients + S * products.depth;  // (F, S)
    if (phase % 2 == 1) return products.run(gradients, w, sums, thread);
    for (int i = thread; i < S * features; i += kThreads) {
      const int f = i % features, own = i / features, sample = static_cast<int>(block.cluster) * S + own;
      const auto found = [&](int gate, float gradient) { gradients[(gate * features + f) * S + own] = gradient; };
      float& held = carried[f * S + own];
      if (phase == 0) held = 0;
      // The block's last samples may be beyond the batch: their products are not read.
      if (sample >= of.samples) continue;
      const int64_t at = of.at(sample, step);
      if (!of.counts(sample, step)) {
        cell.skip(at, f, features, found);
        continue;
      }
      const float of_state = phase > 0 ? products.of(sums, f, own) : 0.0f;
      const float whole = float(gy[at * features + f]) + of_state + Cell::of_result(held);
      cell.step(at, step > 0 ? of.at(sample, step - 1) : -1, f, features, whole, held, found);
    }
  }
};

template <class Cell> struct Programs { template <int S> using Of = Backward<Cell, S>; };

template <class Cell> MadeKernel make_backward(const OperatorSpec& spec, DeviceStream& stream, const Cell& cell) {
  using T = typename Cell::T;
  const Sequences of(spec.inputs[3].shape(), spec.attributes, spec.inputs[4].as<float>());
  return with_samples<Programs<Cell>::template Of>(of.features, [&]<class S>(S) -> MadeKernel {
    using Program = Backward<Cell, S::value>;
    const Program program{of, Program::products_of(of.features), spec.inputs[2].as<T>(), spec.inputs[3].as<T>(), cell};
    return queued([&stream, program] { clusters(stream, (program.of.samples + S::value - 1) / S::value, 1, program); });
  });
}

MadeKernel make_lstm_backward(const OperatorSpec& spec, DeviceStream& stream) {
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    return make_backward(spec, stream, Lstm<T>{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.outputs[0].as<T>()});
  });
}

MadeKernel make_gru_backward(const OperatorSpec& spec, DeviceStream& stream) {
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    return make_backward(spec, stream,
                         Gru<T>{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>(), spec.outputs[1].as<T>()});
  });
}

using enum Port;
const Registered kOperators{{
    {"lstmBackward", {rows, wide, weights, rows, wide}, {rows}, make_lstm_backward, {{0, 0}}},
    {"gruBackward", {rows, rows, weights, rows, wide}, {rows, rows}, make_gru_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
