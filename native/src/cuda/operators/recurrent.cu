// Long short-term memories (Hochreiter and Schmidhuber, 1997; Gers et al., 2000) and gated recurrent units (Cho et al., EMNLP 2014), whose
// product with the input a matrix product before has made. Two launches: one turns the weights, so that neighbouring threads read
// neighbours, and one goes through all positions.
#include "cuda/operators/recurrent.h"

#include <cmath>

#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

EVERYWHERE inline float logistic(float x) { return 1 / (1 + expf(-x)); }

template <class T> struct Turn {
  const T* from;  // (rows, columns)
  T* to;          // (columns, rows)
  int64_t rows, columns;

  EVERYWHERE void operator()(int64_t i) const { to[i] = from[i % rows * columns + i / rows]; }
};

// The four numbers of a feature of a position, for the gradient. `gates` may be null.
template <class T> EVERYWHERE void keep(const float (&numbers)[kKeptGates], T* gates, int64_t at, int f, int features) {
  if (!gates) return;
  for (int i = 0; i < kKeptGates; ++i) gates[(at * kKeptGates + i) * features + f] = T(numbers[i]);
}

// What a feature of a position is computed from: `gate(number)` is what the state gave to one of its gates.
template <class Number> struct Lstm {
  using T = Number;
  static constexpr int kGates = 4;

  T* gates;      // (N, T, 4F) or null: i, f, g, o; may be x
  float* cells;  // (N, T, F) or null

  // Returns y, and replaces the cell by that of this position.
  template <class Gate> EVERYWHERE float step(const T* x, int64_t at, int f, int features, float, float& cell, const Gate& gate) const {
    const auto given = [&](int number) { return float(x[number * features + f]) + gate(number); };
    const float kept[kKeptGates] = {logistic(given(0)), logistic(given(1)), tanhf(given(2)), logistic(given(3))};
    cell = kept[1] * cell + kept[0] * kept[2];
    if (cells) cells[at * features + f] = cell;
    keep(kept, gates, at, f, features);
    return kept[3] * tanhf(cell);
  }
  EVERYWHERE void skip(int64_t at, int f, int features) const {
    if (cells) cells[at * features + f] = 0;
    keep({}, gates, at, f, features);
  }
};

template <class Number> struct Gru {
  using T = Number;
  static constexpr int kGates = 3;

  T* gates;  // (N, T, 4F) or null: r, z, n, what the state gave to n

  template <class Gate> EVERYWHERE float step(const T* x, int64_t at, int f, int features, float state, float&, const Gate& gate) const {
    const auto given = [&](int number) { return float(x[number * features + f]); };
    const float r = logistic(given(0) + gate(0)), z = logistic(given(1) + gate(1)), held = gate(2);
    const float n = tanhf(given(2) + r * held);
    keep({r, z, n, held}, gates, at, f, features);
    return (1 - z) * n + z * state;
  }
  EVERYWHERE void skip(int64_t at, int f, int features) const { keep({}, gates, at, f, features); }
};

// Two phases a step: the product with the states, then each feature. At the first step there is no state.
template <class Cell, int S> struct Forward {
  static constexpr int kMinBlocks = 2;
  using T = typename Cell::T;
  struct Own {};

  Sequences of;
  StateProducts<S> products;
  const T* x;         // (N, T, rows)
  const T* turned;    // (F, rows)
  const float* bias;  // (rows) or null
  T* y;               // (N, T, F)
  T* previous;        // (N, T, F) or null
  Cell cell;

  static StateProducts<S> products_of(int features) { return {Cell::kGates * features, features}; }
  static size_t bytes(int features) { return sizeof(float) * static_cast<size_t>(products_of(features).numbers() + 2 * S * features); }
  size_t shared_bytes() const { return bytes(of.features); }
  EVERYWHERE int phases() const { return 2 * of.length; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own&) const {
    const int step = phase / 2, features = of.features;
    float* const sums = reinterpret_cast<float*>(block.own());
    float* const states = sums + products.numbers();  // (F, S)
    float* const cells = states + features * S;       // (F, S)
    if (phase % 2 == 0) {
      if (step > 0) products.run(states, turned, sums, thread);
      return;
    }
    for (int i = thread; i < S * features; i += kThreads) {
      const int f = i % features, own = i / features, sample = static_cast<int>(block.cluster) * S + own;
      float &state = states[f * S + own], &held = cells[f * S + own];
      if (step == 0) state = held = 0;
      if (sample >= of.samples) continue;
      const int64_t at = of.at(sample, step);
      const bool counts = of.counts(sample, step);
      if (previous) previous[at * features + f] = T(counts ? state : 0.0f);
      const auto gate = [&](int number) {
        const int row = number * features + f;
        return (step > 0 ? products.of(sums, row, own) : 0.0f) + (bias ? bias[row] : 0.0f);
      };
      T rounded(0.0f);
      if (counts)
        rounded = T(cell.step(x + at * products.columns, at, f, features, state, held, gate));
      else
        cell.skip(at, f, features);
      y[at * features + f] = rounded;
      state = float(rounded);
    }
  }
};

template <class Cell> struct Programs { template <int S> using Of = Forward<Cell, S>; };

// Of the turned weights. Refuses what no block holds before there is memory for it.
template <template <class> class Cell> size_t turned_scratch(const LoweringRequest& request) {
  const Shape& w = request.inputs.at(1).shape;
  with_samples<Programs<Cell<float>>::template Of>(static_cast<int>(w.at(1)), [](auto) {});
  return static_cast<size_t>(elements_of(w)) * size_of(request.precision);
}

template <class Cell>
MadeKernel make_forward(const OperatorSpec& spec, DeviceStream& stream, typename Cell::T* previous, const Cell& cell) {
  using T = typename Cell::T;
  const Sequences of(spec.outputs[0].shape(), spec.attributes, spec.inputs[3].as<float>());
  const Turn<T> turn{spec.inputs[1].as<T>(), static_cast<T*>(spec.scratch), Cell::kGates * of.features, of.features};
  return with_samples<Programs<Cell>::template Of>(of.features, [&]<class S>(S) -> MadeKernel {
    using Program = Forward<Cell, S::value>;
    const Program program{of,
                          Program::products_of(of.features),
                          spec.inputs[0].as<T>(),
                          turn.to,
                          spec.inputs[2].as<float>(),
                          spec.outputs[0].as<T>(),
                          previous,
                          cell};
    return queued([&stream, turn, program] {
      each(stream, turn.rows * turn.columns, turn);
      clusters(stream, (program.of.samples + S::value - 1) / S::value, 1, program);
    });
  });
}

MadeKernel make_lstm(const OperatorSpec& spec, DeviceStream& stream) {
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    return make_forward(spec, stream, spec.outputs[3].as<T>(), Lstm<T>{spec.outputs[1].as<T>(), spec.outputs[2].as<float>()});
  });
}

MadeKernel make_gru(const OperatorSpec& spec, DeviceStream& stream) {
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    return make_forward(spec, stream, spec.outputs[2].as<T>(), Gru<T>{spec.outputs[1].as<T>()});
  });
}

using enum Port;
const Registered kOperators{{
    {"lstm", {rows, weights, wide, wide}, {rows, rows, wide, rows}, make_lstm, {{1, 0}}, turned_scratch<Lstm>},
    {"gru", {rows, weights, wide, wide}, {rows, rows, rows}, make_gru, {}, turned_scratch<Gru>},
}};

}  // namespace
}  // namespace arbalest::cuda
