// Self-attention, causal, over all positions, or over those before each sequence's length (Vaswani et al., "Attention is all you need",
// NeurIPS 2017) and its gradient.
#include <cmath>

#include "cpu/reference/operator.h"
#include "cpu/sequence_length.h"

namespace arbalest::reference {
namespace {

// The places of the parts of one head in qkv (N, T, 3F) and y (N, T, F).
struct Heads {
  Heads(const Shape& qkv, double count) : N(qkv[0]), T(qkv[1]), F(qkv[2] / 3), heads(static_cast<int64_t>(count)), width(F / heads) {}
  // part 0, 1, 2: query, key, value
  int64_t at(int64_t part, int64_t n, int64_t head, int64_t t) const { return (n * T + t) * 3 * F + part * F + head * width; }
  int64_t result(int64_t n, int64_t head, int64_t t) const { return (n * T + t) * F + head * width; }
  int64_t row(int64_t n, int64_t head, int64_t t) const { return (n * heads + head) * T + t; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  int64_t N, T, F, heads, width;
};

template <class A, class B> double dot(const A* a, const B* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// Full attention may have the lengths of the sequences (N) as its last input.
void check_lengths(const Request& request, size_t i, int64_t samples) {
  if (request.inputs() > i && request.has_input(i)) request.input_is(i, {samples});
}

void check_forward(const Request& request) {
  request.input_rank(0, 3);
  const Shape& qkv = request.input(0);
  if (qkv[2] % 3 != 0) request.refuse("shape of input qkv", shown(qkv), "make its last extent three times the features");
  const int64_t heads = request.whole("heads", 1, qkv[2] / 3);
  if (qkv[2] / 3 % heads != 0) request.refuse("heads", std::to_string(heads), "give a divisor of " + std::to_string(qkv[2] / 3));
  check_lengths(request, 1, qkv[0]);
  request.output_is(0, {qkv[0], qkv[1], qkv[2] / 3});
  request.output_is(1, {qkv[0], heads, qkv[1]});
}

void check_backward(const Request& request) {
  request.input_rank(1, 3);
  const Shape& y = request.input(1);
  const int64_t heads = request.whole("heads", 1, y[2]);
  if (y[2] % heads != 0) request.refuse("heads", std::to_string(heads), "give a divisor of " + std::to_string(y[2]));
  request.input_is(0, {y[0], y[1], 3 * y[2]});
  request.input_is(2, {y[0], heads, y[1]});
  request.input_is(3, y);
  check_lengths(request, 4, y[0]);
  request.output_is(0, {y[0], y[1], 3 * y[2]});
}

// Position t sees positions 0 to t, or all, or those before the length of its sequence (N), where positions behind see none and give zeros.
template <class T, bool Causal> class Seen {
 public:
  Seen(const OperatorSpec& op, size_t lengths, int64_t T_)
      : lengths_(Causal || op.inputs.size() <= lengths ? nullptr : op.inputs[lengths].as<Wide<T>>()), T_(T_) {}
  int64_t operator()(int64_t n, int64_t t) const {
    if (Causal) return t + 1;
    const int64_t length = lengths_ ? length_of(lengths_[n], T_) : T_;
    return t < length ? length : 0;
  }

 private:
  const Wide<T>* lengths_;
  int64_t T_;
};

template <class T, bool Causal> void attention(const OperatorSpec& op, const StepContext&) {
  const T* qkv = op.inputs[0].as<T>();             // (N, T, 3F)
  T* y = op.outputs[0].as<T>();                    // (N, T, F)
  Wide<T>* log_sum = op.outputs[1].as<Wide<T>>();  // (N, heads, T) or null
  const Heads at(op.inputs[0].shape(), op.attributes.number("heads"));
  const Seen<T, Causal> seen(op, 1, at.T);
  std::vector<double> scores(static_cast<size_t>(at.T)), sums(static_cast<size_t>(at.width));
  for (int64_t n = 0; n < at.N; ++n) {
    for (int64_t head = 0; head < at.heads; ++head) {
      for (int64_t t = 0; t < at.T; ++t) {
        const int64_t count = seen(n, t);
        double highest = -HUGE_VAL, total = 0;
        for (int64_t s = 0; s < count; ++s) {
          const double score = at.scale() * dot(qkv + at.at(0, n, head, t), qkv + at.at(1, n, head, s), at.width);
          scores[static_cast<size_t>(s)] = score;
          highest = std::max(highest, score);
        }
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t s = 0; s < count; ++s) {
          const double power = std::exp(scores[static_cast<size_t>(s)] - highest);
          const T* value = qkv + at.at(2, n, head, s);
          total += power;
          for (int64_t f = 0; f < at.width; ++f) sums[static_cast<size_t>(f)] += power * double{value[f]};
        }
        for (int64_t f = 0; f < at.width; ++f)
          y[at.result(n, head, t) + f] = rounded<T>(count > 0 ? sums[static_cast<size_t>(f)] / total : 0);
        if (log_sum) log_sum[at.row(n, head, t)] = rounded<Wide<T>>(count > 0 ? highest + std::log(total) : 0);
      }
    }
  }
}

// With p the probabilities, d_ts = gy_t . v_s and D_t = gy_t . y_t: the score's gradient is p_ts (d_ts - D_t).
template <class T, bool Causal> void attention_backward(const OperatorSpec& op, const StepContext&) {
  const T* qkv = op.inputs[0].as<T>();                  // (N, T, 3F)
  const T* y = op.inputs[1].as<T>();                    // (N, T, F)
  const Wide<T>* log_sum = op.inputs[2].as<Wide<T>>();  // (N, heads, T)
  const T* gy = op.inputs[3].as<T>();                   // (N, T, F)
  T* gqkv = op.outputs[0].as<T>();                      // (N, T, 3F)
  const Heads at(op.inputs[0].shape(), op.attributes.number("heads"));
  const Seen<T, Causal> seen(op, 4, at.T);
  std::vector<double> sums(static_cast<size_t>(elements_of(op.inputs[0].shape())));
  for (int64_t n = 0; n < at.N; ++n) {
    for (int64_t head = 0; head < at.heads; ++head) {
      for (int64_t t = 0; t < at.T; ++t) {
        const int64_t query = at.at(0, n, head, t), result = at.result(n, head, t);
        const double mean = dot(gy + result, y + result, at.width);
        for (int64_t s = 0; s < seen(n, t); ++s) {
          const int64_t key = at.at(1, n, head, s), value = at.at(2, n, head, s);
          const double p = std::exp(at.scale() * dot(qkv + query, qkv + key, at.width) - double{log_sum[at.row(n, head, t)]});
          const double gradient = at.scale() * p * (dot(gy + result, qkv + value, at.width) - mean);
          for (int64_t f = 0; f < at.width; ++f) {
            sums[static_cast<size_t>(query + f)] += gradient * double{qkv[key + f]};
            sums[static_cast<size_t>(key + f)] += gradient * double{qkv[query + f]};
            sums[static_cast<size_t>(value + f)] += p * double{gy[result + f]};
          }
        }
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) gqkv[i] = rounded<T>(sums[i]);
}

template <bool Causal> Operator forward(const char* kind) {
  using enum Role;
  std::vector<Port> inputs{{"qkv", activation}};
  if (!Causal) inputs.push_back({"lengths", wide, true});
  return {kind,
          inputs,
          {{"y", activation}, {"logSum", wide, true}},
          check_forward,
          {attention<float, Causal>, attention<double, Causal>, attention<Bf16, Causal>}};
}

template <bool Causal> Operator backward(const char* kind) {
  using enum Role;
  std::vector<Port> inputs{{"qkv", activation}, {"y", activation}, {"logSum", wide}, {"gy", activation}};
  if (!Causal) inputs.push_back({"lengths", wide, true});
  return {kind,
          inputs,
          {{"gqkv", activation}},
          check_backward,
          {attention_backward<float, Causal>, attention_backward<double, Causal>, attention_backward<Bf16, Causal>}};
}

const Registered kRegistered{{
    forward<true>("causalSelfAttention"),
    backward<true>("causalSelfAttentionBackward"),
    forward<false>("selfAttention"),
    backward<false>("selfAttentionBackward"),
}};

}  // namespace
}  // namespace arbalest::reference
