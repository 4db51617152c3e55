// linear and its gradients: y = x w' + b with x (..., F), w (O, F), b (O); and products of two activations.
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

// (..., last)
Shape with_last(Shape shape, int64_t last) {
  shape.back() = last;
  return shape;
}

void check_forward(const Request& request) {
  request.input_rank_at_least(0, 2);
  request.input_rank(1, 2);
  const Shape &x = request.input(0), &w = request.input(1);
  request.input_is(1, {w[0], x.back()});
  request.input_is(2, {w[0]});
  request.output_is(0, with_last(x, w[0]));
}

void check_backward_data(const Request& request) {
  request.input_rank_at_least(0, 2);
  request.input_rank(1, 2);
  const Shape &gy = request.input(0), &w = request.input(1);
  request.input_is(1, {gy.back(), w[1]});
  request.output_is(0, with_last(gy, w[1]));
}

void check_backward_weights(const Request& request) {
  request.input_rank_at_least(0, 2);
  request.input_rank_at_least(1, 2);
  const Shape &x = request.input(0), &gy = request.input(1);
  request.input_is(1, with_last(x, gy.back()));
  request.output_is(0, {gy.back(), x.back()});
  request.output_is(1, {gy.back()});
}

// The factors and the result of a matrix product: a (..., M, K) or (..., K, M), b (..., K, O) or (..., O, K), y (..., M, O).
struct Product {
  Product(const Shape& a, const Shape& b, const Attributes& attributes)
      : transpose_a(attributes.number("transposeA", 0) != 0), transpose_b(attributes.number("transposeB", 0) != 0) {
    const size_t rank = a.size();
    M = a[rank - (transpose_a ? 1 : 2)], K = a[rank - (transpose_a ? 2 : 1)], O = b[rank - (transpose_b ? 2 : 1)];
    batch = elements_of(a) / (M * K);
  }
  bool transpose_a, transpose_b;
  int64_t batch = 1, M = 1, K = 1, O = 1;
};

void check_matmul(const Request& request) {
  request.input_rank_at_least(0, 2);
  request.input_rank(1, request.input(0).size());
  const Shape& a = request.input(0);
  const Product product(a, request.input(1), request.attributes());
  Shape b = a, y = a;
  const size_t rank = a.size();
  b[rank - 2] = product.transpose_b ? product.O : product.K, b[rank - 1] = product.transpose_b ? product.K : product.O;
  y[rank - 2] = product.M, y[rank - 1] = product.O;
  request.input_is(1, b);
  request.output_is(0, y);
}

template <class T> void matmul(const OperatorSpec& op, const StepContext&) {
  const T* a = op.inputs[0].as<T>();  // (..., M, K), or (..., K, M)
  const T* b = op.inputs[1].as<T>();  // (..., K, O), or (..., O, K)
  T* y = op.outputs[0].as<T>();       // (..., M, O)
  const Product p(op.inputs[0].shape(), op.inputs[1].shape(), op.attributes);
  for (int64_t n = 0; n < p.batch; ++n, a += p.M * p.K, b += p.K * p.O) {
    for (int64_t m = 0; m < p.M; ++m) {
      for (int64_t o = 0; o < p.O; ++o) {
        double sum = 0;
        for (int64_t k = 0; k < p.K; ++k) {
          sum += double{a[p.transpose_a ? k * p.M + m : m * p.K + k]} * double{b[p.transpose_b ? o * p.K + k : k * p.O + o]};
        }
        *y++ = rounded<T>(sum);
      }
    }
  }
}

template <class T> void linear(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();              // (N, F), all axes but the last as one
  const Wide<T>* w = op.inputs[1].as<Wide<T>>();  // (O, F)
  const Wide<T>* b = op.inputs[2].as<Wide<T>>();  // (O) or null
  T* y = op.outputs[0].as<T>();                   // (N, O)
  const int64_t O = op.inputs[1].shape()[0], F = op.inputs[1].shape()[1], N = elements_of(op.inputs[0].shape()) / F;
  const bool relu = op.attributes.number("relu", 0) != 0;
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t o = 0; o < O; ++o) {
      double sum = b ? b[o] : 0.0;
      for (int64_t f = 0; f < F; ++f) sum += double{x[n * F + f]} * double{w[o * F + f]};
      y[n * O + o] = rounded<T>(relu && sum < 0 ? 0.0 : sum);
    }
  }
}

template <class T> void linear_backward_data(const OperatorSpec& op, const StepContext&) {
  const T* gy = op.inputs[0].as<T>();             // (N, O)
  const Wide<T>* w = op.inputs[1].as<Wide<T>>();  // (O, F)
  T* gx = op.outputs[0].as<T>();                  // (N, F)
  const int64_t O = op.inputs[1].shape()[0], F = op.inputs[1].shape()[1], N = elements_of(op.inputs[0].shape()) / O;
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t f = 0; f < F; ++f) {
      double sum = 0;
      for (int64_t o = 0; o < O; ++o) sum += double{gy[n * O + o]} * double{w[o * F + f]};
      gx[n * F + f] = rounded<T>(sum);
    }
  }
}

template <class T> void linear_backward_weights(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();          // (N, F)
  const T* gy = op.inputs[1].as<T>();         // (N, O)
  Wide<T>* gw = op.outputs[0].as<Wide<T>>();  // (O, F)
  Wide<T>* gb = op.outputs[1].as<Wide<T>>();  // (O) or null
  const int64_t O = op.outputs[0].shape()[0], F = op.outputs[0].shape()[1], N = elements_of(op.inputs[0].shape()) / F;
  for (int64_t o = 0; o < O; ++o) {
    for (int64_t f = 0; f < F; ++f) {
      double sum = 0;
      for (int64_t n = 0; n < N; ++n) sum += double{gy[n * O + o]} * double{x[n * F + f]};
      gw[o * F + f] = rounded<Wide<T>>(sum);
    }
    if (!gb) continue;
    double sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += gy[n * O + o];
    gb[o] = rounded<Wide<T>>(sum);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"linear",
       {{"x", activation}, {"w", wide}, {"b", wide, true}},
       {{"y", activation}},
       check_forward,
       {linear<float>, linear<double>, linear<Bf16>}},
      {"linearBackwardData",
       {{"gy", activation}, {"w", wide}},
       {{"gx", activation}},
       check_backward_data,
       {linear_backward_data<float>, linear_backward_data<double>, linear_backward_data<Bf16>}},
      {"linearBackwardWeights",
       {{"x", activation}, {"gy", activation}},
       {{"gw", wide}, {"gb", wide, true}},
       check_backward_weights,
       {linear_backward_weights<float>, linear_backward_weights<double>, linear_backward_weights<Bf16>}},
      {"matmul", {{"a", activation}, {"b", activation}}, {{"y", activation}}, check_matmul, {matmul<float>, matmul<double>, matmul<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
