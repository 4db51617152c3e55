// linear and its gradients: y = x w' + b with x (N, F), w (O, F), b (O); and batches of products.
#include "cuda/host/library_kernels.h"
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

// to (rows, columns) = sum over `depth` of left and right, each with strides of its own.
template <class T, class To> struct Product {
  const T *left, *right;
  To* to;
  int64_t rows, columns, depth, left_row, left_depth, right_column, right_depth;

  int64_t pieces() const { return rows * pieces_of(columns); }
  void operator()(int64_t i) const {
    const int64_t row = i / pieces_of(columns);
    const Piece piece(i % pieces_of(columns), columns);
    float sums[kPiece] = {};
    for (int64_t d = 0; d < depth; ++d) {
      const float a = float(left[row * left_row + d * left_depth]);
      const T* const b = right + piece.first * right_column + d * right_depth;
      if (right_column == 1)
        piece.add(sums, [&](int column) { return a * float(b[column]); });
      else
        piece.add(sums, [&](int column) { return a * float(b[column * right_column]); });
    }
    for (int column = 0; column < piece.count; ++column) to[row * columns + piece.first + column] = To(sums[column]);
  }
};

// For each of `batch`: a (M, K) or (K, M), b (K, O) or (O, K), to (M, O).
template <class T, class To> MadeKernel make_batched(const OperatorSpec& spec, DeviceStream& stream) {
  const bool across_a = flag(spec.attributes, "transposeA"), across_b = flag(spec.attributes, "transposeB");
  const Shape &a = spec.inputs[0].shape(), &y = spec.outputs[0].shape();
  const int64_t m = y[y.size() - 2], o = y.back(), k = a[a.size() - (across_a ? 2 : 1)], batch = elements_of(y) / (m * o);
  const Product<T, To> first{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<To>(), m, o, k, across_a ? 1 : k,
                             across_a ? m : 1,       across_b ? k : 1,       across_b ? 1 : o};
  return queued([&stream, batch, first] {
    Product<T, To> product = first;
    for (int64_t n = 0; n < batch; ++n) {
      each(stream, product.pieces(), product);
      product.left += product.rows * product.depth;
      product.right += product.depth * product.columns;
      product.to += product.rows * product.columns;
    }
  });
}

template <class T> MadeKernel make(const OperatorSpec& spec, DeviceStream& stream) {
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  if (spec.kind == "matmul") return out[0].spec.type == Type::f32 ? make_batched<T, float>(spec, stream) : make_batched<T, T>(spec, stream);
  const int64_t n = elements_of(in[0].shape()) / in[0].shape().back();
  if (spec.kind == "linear") {
    const int64_t f = in[0].shape().back(), o = in[1].shape()[0];
    const Product<T, T> program{in[0].as<T>(), in[1].as<T>(), out[0].as<T>(), n, o, f, f, 1, f, 1};
    return queued([&stream, program, y = out[0], b = in[2].as<float>(), relu = flag(spec.attributes, "relu")] {
      each(stream, program.pieces(), program);
      queue_bias(y, y.shape().back(), b, relu, stream);
    });
  }
  if (spec.kind == "linearBackwardData") {
    const int64_t o = in[0].shape().back(), f = in[1].shape()[1];
    const Product<T, T> program{in[0].as<T>(), in[1].as<T>(), out[0].as<T>(), n, f, o, o, 1, 1, f};
    return queued([&stream, program] { each(stream, program.pieces(), program); });
  }
  if (spec.kind != "linearBackwardWeights") return nullptr;
  const int64_t f = in[0].shape().back(), o = in[1].shape().back();
  const Product<T, float> program{in[1].as<T>(), in[0].as<T>(), out[0].as<float>(), o, f, n, 1, o, 1, f};
  return queued([&stream, program, gy = in[1], gb = out[1].as<float>(), partials = static_cast<float*>(spec.scratch)] {
    each(stream, program.pieces(), program);
    if (gb) queue_bias_gradient(gy, gy.shape().back(), gb, partials, stream);
  });
}

}  // namespace

MadeKernel make_matrix_product(const OperatorSpec& spec, DeviceStream& stream) {
  return spec.precision == Type::bf16 ? make<Bf16>(spec, stream) : make<float>(spec, stream);
}

}  // namespace arbalest::cuda
