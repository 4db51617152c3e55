// Long short-term memories (Hochreiter and Schmidhuber, 1997; Gers et al., 2000), gated recurrent units (Cho et al., EMNLP 2014) and their
// gradients.
#include "cpu/recurrence.h"

#include <cmath>

#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

using Numbers = std::vector<double>;
Numbers zeros(int64_t count) { return Numbers(static_cast<size_t>(count)); }

// The tensor at a port that may be absent; null then.
template <class T> const T* optional(const std::vector<Tensor>& tensors, size_t i) {
  return i < tensors.size() ? tensors[i].as<T>() : nullptr;
}

// Positions that count, of a sample.
template <class T> int64_t counted(const Wide<T>* lengths, int64_t sample, int64_t length) {
  return lengths ? length_of(lengths[sample], length) : length;
}

// w (rows, F) times `state`.
template <class T> Numbers product(const Wide<T>* w, int64_t rows, const Numbers& state) {
  Numbers sums = zeros(rows);
  for (size_t row = 0; row < sums.size(); ++row)
    for (double value : state) sums[row] += double{*w++} * value;
  return sums;
}

// The transpose of w (rows, F) times `gradients` (rows).
template <class T> Numbers transposed_product(const Wide<T>* w, int64_t features, const Numbers& gradients) {
  Numbers sums = zeros(features);
  for (double gradient : gradients)
    for (double& sum : sums) sum += double{*w++} * gradient;
  return sums;
}

template <class T> void lstm(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();              // (N, T, 4F)
  const Wide<T>* w = op.inputs[1].as<Wide<T>>();  // (4F, F)
  const auto* b = optional<Wide<T>>(op.inputs, 2);
  const auto* lengths = optional<Wide<T>>(op.inputs, 3);
  T* y = op.outputs[0].as<T>();                  // (N, T, F)
  T* gates = op.outputs[1].as<T>();              // (N, T, 4F) or null
  Wide<T>* cells = op.outputs[2].as<Wide<T>>();  // (N, T, F) or null
  T* previous = op.outputs[3].as<T>();           // (N, T, F) or null
  const Recurrence r(op.outputs[0].shape(), op.attributes);
  const int64_t F = r.features;
  for (int64_t n = 0; n < r.samples; ++n) {
    Numbers state = zeros(F), cell = zeros(F);
    for (int64_t s = 0; s < r.length; ++s) {
      const int64_t position = r.position(s), at = n * r.length + position;
      const bool counts = position < counted<T>(lengths, n, r.length);
      const Numbers sums = s == 0 ? zeros(4 * F) : product<T>(w, 4 * F, state);
      for (int64_t f = 0; f < F; ++f) {
        const auto feature = static_cast<size_t>(f);
        const auto gate = [&](int64_t number) {
          const int64_t row = number * F + f;
          return double{x[at * 4 * F + row]} + sums[static_cast<size_t>(row)] + (b ? double{b[row]} : 0.0);
        };
        double i = sigmoid(gate(0)), forget = sigmoid(gate(1)), g = std::tanh(gate(2)), o = sigmoid(gate(3));
        if (!counts) i = forget = g = o = 0;
        if (previous) previous[at * F + f] = rounded<T>(counts ? state[feature] : 0);
        cell[feature] = rounded<Wide<T>>(counts ? forget * cell[feature] + i * g : 0);
        y[at * F + f] = rounded<T>(counts ? o * std::tanh(cell[feature]) : 0);
        if (cells) cells[at * F + f] = rounded<Wide<T>>(cell[feature]);
        if (!gates) continue;
        T* const kept = gates + at * 4 * F + f;
        kept[0] = rounded<T>(i), kept[F] = rounded<T>(forget), kept[2 * F] = rounded<T>(g), kept[3 * F] = rounded<T>(o);
      }
      for (int64_t f = 0; f < F; ++f) state[static_cast<size_t>(f)] = double{y[at * F + f]};
    }
  }
}

template <class T> void lstm_backward(const OperatorSpec& op, const StepContext&) {
  const T* gates = op.inputs[0].as<T>();              // (N, T, 4F)
  const Wide<T>* cells = op.inputs[1].as<Wide<T>>();  // (N, T, F)
  const Wide<T>* w = op.inputs[2].as<Wide<T>>();      // (4F, F)
  const T* gy = op.inputs[3].as<T>();                 // (N, T, F)
  const auto* lengths = optional<Wide<T>>(op.inputs, 4);
  T* gx = op.outputs[0].as<T>();  // (N, T, 4F)
  const Recurrence r(op.inputs[3].shape(), op.attributes);
  const int64_t F = r.features;
  for (int64_t n = 0; n < r.samples; ++n) {
    Numbers gstate = zeros(F), gcell = zeros(F), sums = zeros(4 * F);
    for (int64_t s = r.length - 1; s >= 0; --s) {
      const int64_t position = r.position(s), at = n * r.length + position;
      const bool counts = position < counted<T>(lengths, n, r.length);
      for (int64_t f = 0; f < F; ++f) {
        const auto feature = static_cast<size_t>(f);
        const T* const kept = gates + at * 4 * F + f;
        const double i = double{kept[0]}, forget = double{kept[F]}, g = double{kept[2 * F]}, o = double{kept[3 * F]};
        const double before = s == 0 ? 0.0 : double{cells[(n * r.length + r.position(s - 1)) * F + f]};
        const double squashed = std::tanh(double{cells[at * F + f]}), gh = double{gy[at * F + f]} + gstate[feature];
        const double gc = gcell[feature] + gh * o * (1 - squashed * squashed);
        double gradients[4] = {gc * g * i * (1 - i), gc * before * forget * (1 - forget), gc * i * (1 - g * g),
                               gh * squashed * o * (1 - o)};
        gcell[feature] = counts ? gc * forget : 0;
        for (int64_t gate = 0; gate < 4; ++gate) {
          T& to = gx[at * 4 * F + gate * F + f];
          to = rounded<T>(counts ? gradients[gate] : 0);
          sums[static_cast<size_t>(gate * F + f)] = double{to};
        }
      }
      gstate = transposed_product<T>(w, F, sums);
    }
  }
}

template <class T> void gru(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();              // (N, T, 3F)
  const Wide<T>* w = op.inputs[1].as<Wide<T>>();  // (3F, F)
  const auto* b = optional<Wide<T>>(op.inputs, 2);
  const auto* lengths = optional<Wide<T>>(op.inputs, 3);
  T* y = op.outputs[0].as<T>();         // (N, T, F)
  T* gates = op.outputs[1].as<T>();     // (N, T, 4F) or null: r, z, n, s of n
  T* previous = op.outputs[2].as<T>();  // (N, T, F) or null
  const Recurrence r(op.outputs[0].shape(), op.attributes);
  const int64_t F = r.features;
  for (int64_t n = 0; n < r.samples; ++n) {
    Numbers state = zeros(F);
    for (int64_t s = 0; s < r.length; ++s) {
      const int64_t position = r.position(s), at = n * r.length + position;
      const bool counts = position < counted<T>(lengths, n, r.length);
      const Numbers sums = s == 0 ? zeros(3 * F) : product<T>(w, 3 * F, state);
      for (int64_t f = 0; f < F; ++f) {
        const auto feature = static_cast<size_t>(f);
        const auto given = [&](int64_t gate) { return double{x[at * 3 * F + gate * F + f]}; };
        const auto of_state = [&](int64_t gate) {
          const int64_t row = gate * F + f;
          return sums[static_cast<size_t>(row)] + (b ? double{b[row]} : 0.0);
        };
        const double reset = sigmoid(given(0) + of_state(0)), z = sigmoid(given(1) + of_state(1)), held = of_state(2);
        const double candidate = std::tanh(given(2) + reset * held);
        if (previous) previous[at * F + f] = rounded<T>(counts ? state[feature] : 0);
        y[at * F + f] = rounded<T>(counts ? (1 - z) * candidate + z * state[feature] : 0);
        if (!gates) continue;
        T* const kept = gates + at * 4 * F + f;
        kept[0] = rounded<T>(counts ? reset : 0), kept[F] = rounded<T>(counts ? z : 0);
        kept[2 * F] = rounded<T>(counts ? candidate : 0), kept[3 * F] = rounded<T>(counts ? held : 0);
      }
      for (int64_t f = 0; f < F; ++f) state[static_cast<size_t>(f)] = double{y[at * F + f]};
    }
  }
}

template <class T> void gru_backward(const OperatorSpec& op, const StepContext&) {
  const T* gates = op.inputs[0].as<T>();          // (N, T, 4F): r, z, n, s of n
  const T* previous = op.inputs[1].as<T>();       // (N, T, F)
  const Wide<T>* w = op.inputs[2].as<Wide<T>>();  // (3F, F)
  const T* gy = op.inputs[3].as<T>();             // (N, T, F)
  const auto* lengths = optional<Wide<T>>(op.inputs, 4);
  T* gx = op.outputs[0].as<T>();  // (N, T, 3F)
  T* gs = op.outputs[1].as<T>();  // (N, T, 3F)
  const Recurrence r(op.inputs[3].shape(), op.attributes);
  const int64_t F = r.features;
  for (int64_t n = 0; n < r.samples; ++n) {
    Numbers gstate = zeros(F), sums = zeros(3 * F), kept_back = zeros(F);
    for (int64_t s = r.length - 1; s >= 0; --s) {
      const int64_t position = r.position(s), at = n * r.length + position;
      const bool counts = position < counted<T>(lengths, n, r.length);
      for (int64_t f = 0; f < F; ++f) {
        const auto feature = static_cast<size_t>(f);
        const T* const kept = gates + at * 4 * F + f;
        const double reset = double{kept[0]}, z = double{kept[F]}, candidate = double{kept[2 * F]}, held = double{kept[3 * F]};
        const double gh = double{gy[at * F + f]} + gstate[feature];
        const double gn = gh * (1 - z) * (1 - candidate * candidate);
        const double gr = gn * held * reset * (1 - reset), gz = gh * (double{previous[at * F + f]} - candidate) * z * (1 - z);
        const double of_x[3] = {gr, gz, gn}, of_s[3] = {gr, gz, gn * reset};
        kept_back[feature] = counts ? gh * z : 0;
        for (int64_t gate = 0; gate < 3; ++gate) {
          const int64_t to = at * 3 * F + gate * F + f;
          gx[to] = rounded<T>(counts ? of_x[gate] : 0);
          gs[to] = rounded<T>(counts ? of_s[gate] : 0);
          sums[static_cast<size_t>(gate * F + f)] = double{gs[to]};
        }
      }
      gstate = transposed_product<T>(w, F, sums);
      for (size_t f = 0; f < gstate.size(); ++f) gstate[f] += kept_back[f];
    }
  }
}

std::vector<Operator> operators() {
  using enum Role;
  const std::vector<Port> forward{{"x", activation}, {"w", wide}, {"b", wide, true}, {"lengths", wide, true}};
  return {
      {"lstm",
       forward,
       {{"y", activation}, {"gates", activation, true}, {"cells", wide, true}, {"previous", activation, true}},
       [](const Request& request) { check_recurrent(request, 4, 4); },
       {lstm<float>, lstm<double>, lstm<Bf16>}},
      {"lstmBackward",
       {{"gates", activation}, {"cells", wide}, {"w", wide}, {"gy", activation}, {"lengths", wide, true}},
       {{"gx", activation}},
       [](const Request& request) { check_recurrent_gradient(request, 4, 1); },
       {lstm_backward<float>, lstm_backward<double>, lstm_backward<Bf16>}},
      {"gru",
       forward,
       {{"y", activation}, {"gates", activation, true}, {"previous", activation, true}},
       [](const Request& request) { check_recurrent(request, 3, 3); },
       {gru<float>, gru<double>, gru<Bf16>}},
      {"gruBackward",
       {{"gates", activation}, {"previous", activation}, {"w", wide}, {"gy", activation}, {"lengths", wide, true}},
       {{"gx", activation}, {"gs", activation}},
       [](const Request& request) { check_recurrent_gradient(request, 3, 2); },
       {gru_backward<float>, gru_backward<double>, gru_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
