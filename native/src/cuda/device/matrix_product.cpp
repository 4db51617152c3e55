#include "cuda/device/matrix_product.h"

#include "cuda/device/cublas_lt.h"
#include "cuda/device/cuda_stream.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

constexpr uint64_t kMostWorkspace = 32u << 20;
// Partial sums that are added in the order in which they finish differ from run to run. This scheme has a fixed order. So has the scheme of
// the output's type, but it would round the parts to bfloat16.
constexpr uint32_t kOrderedReductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

cudaDataType_t data_type(Type type) { return type == Type::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

// A matrix in cuBLASLt's column-major order: our row-major (r, c) is its (c, r). Or a batch of consecutive matrices.
struct Factor {
  const void* data;
  int64_t rows, columns;
  Type type;
  int64_t batch = 1;
};

// The alignment of all matrices of the batch, a power of two up to 64 bytes: kernels with wider reads would fault.
uint32_t alignment_of(const Factor& of) {
  const auto stride = of.batch == 1 ? uintptr_t{0} : static_cast<uintptr_t>(of.rows * of.columns) * size_of(of.type);
  const uintptr_t bits = reinterpret_cast<uintptr_t>(of.data) | stride | 64;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

// d (m, n) = a b, column-major, with a and b transposed or not. The algorithm is chosen once and run often.
class Product {
 public:
  Product(Factor a, bool transpose_a, Factor b, bool transpose_b, Factor d, bool tf32, CudaStream& stream)
      : a_(a), b_(b), d_(d), stream_(stream) {
    const CublasLt& blas = cublas_lt();
    const bool fast = tf32 && a.type == Type::f32;
    check(blas.init_descriptor(&descriptor_, sizeof descriptor_, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "matmul");
    set(CUBLASLT_MATMUL_DESC_TRANSA, transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    layout(a_layout_, a);
    layout(b_layout_, b);
    layout(d_layout_, d);
    choose();
  }

  void run() const {
    const float one = 1, zero = 0;
    check(cublas_lt().matmul(
              handle_, const_cast<cublasLtMatmulDescOpaque_t*>(&descriptor_), &one, a_.data,
              const_cast<cublasLtMatrixLayoutOpaque_t*>(&a_layout_), b_.data, const_cast<cublasLtMatrixLayoutOpaque_t*>(&b_layout_), &zero,
              d_.data, const_cast<cublasLtMatrixLayoutOpaque_t*>(&d_layout_), const_cast<void*>(d_.data),
              const_cast<cublasLtMatrixLayoutOpaque_t*>(&d_layout_), &choice_.algo, workspace_, choice_.workspaceSize, stream_.handle()),
          "matmul");
  }

 private:
  void set(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t value) {
    check(cublas_lt().set_descriptor(&descriptor_, attribute, &value, sizeof value), "matmul");
  }
  static void layout(cublasLtMatrixLayoutOpaque_t& to, const Factor& of) {
    check(cublas_lt().init_layout(&to, sizeof to, data_type(of.type), static_cast<uint64_t>(of.rows), static_cast<uint64_t>(of.columns),
                                  of.rows),
          "matmul");
    if (of.batch == 1) return;
    const auto count = static_cast<int32_t>(of.batch);
    const int64_t stride = of.rows * of.columns;
    check(cublas_lt().set_layout(&to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "matmul");
    check(cublas_lt().set_layout(&to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "matmul");
  }
  void choose() {
    const CublasLt& blas = cublas_lt();
    cublasLtMatmulPreferenceOpaque_t preference;
    check(blas.init_preference(&preference, sizeof preference), "matmul");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(blas.set_preference(&preference, attribute, &value, sizeof value), "matmul");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kOrderedReductions);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(a_));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(b_));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(d_));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(d_));
    int found = 0;
    const cublasStatus_t answer =
        blas.heuristics(handle_, &descriptor_, &a_layout_, &b_layout_, &d_layout_, &d_layout_, &preference, 1, &choice_, &found);
    // cuBLASLt's way to say that it has no algorithm.
    if (answer != CUBLAS_STATUS_NOT_SUPPORTED) check(answer, "matmul");
    if (found == 0 || choice_.state != CUBLAS_STATUS_SUCCESS)
      throw Error("UNSUPPORTED_OPERATOR", "matrix product: cuBLASLt has no way to compute it on this GPU");
    workspace_ = stream_.workspace(choice_.workspaceSize);
  }

  Factor a_, b_, d_;
  CudaStream& stream_;
  cublasLtHandle_t handle_ = cublas_lt().handle();
  cublasLtMatmulDescOpaque_t descriptor_{};
  cublasLtMatrixLayoutOpaque_t a_layout_{}, b_layout_{}, d_layout_{};
  cublasLtMatmulHeuristicResult_t choice_{};
  void* workspace_ = nullptr;
};

// y (M, O) = a b for each matrix of a batch; a (K, M) and b (O, K) if they are transposed.
MadeKernel make_batched(const OperatorSpec& spec, CudaStream& stream, bool tf32) {
  const bool across_a = flag(spec.attributes, "transposeA"), across_b = flag(spec.attributes, "transposeB");
  const Tensor &a = spec.inputs[0], &b = spec.inputs[1], &y = spec.outputs[0];
  const auto factor = [](const Tensor& of) {
    const int64_t rows = of.shape().back(), columns = of.shape().rbegin()[1];
    return Factor{of.data, rows, columns, of.spec.type, elements_of(of.shape()) / (rows * columns)};
  };
  const Product product(factor(b), across_b, factor(a), across_a, factor(y), tf32, stream);
  return queued([product] { product.run(); });
}

}  // namespace

MadeKernel make_matrix_product(const OperatorSpec& spec, DeviceStream& stream, bool tf32) {
  auto& queue = static_cast<CudaStream&>(stream);
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  const Type type = spec.precision;
  if (spec.kind == "matmul") return make_batched(spec, queue, tf32);
  if (spec.kind == "linear") {
    const int64_t f = in[0].shape().back(), n = elements_of(in[0].shape()) / f, o = in[1].shape()[0];
    const Product product({in[1].data, f, o, type}, true, {in[0].data, f, n, type}, false, {out[0].data, o, n, type}, tf32, queue);
    return queued([product, &stream, y = out[0], b = in[2].as<float>(), relu = flag(spec.attributes, "relu")] {
      product.run();
      queue_bias(y, y.shape().back(), b, relu, stream);
    });
  }
  if (spec.kind == "linearBackwardData") {
    const int64_t o = in[0].shape().back(), n = elements_of(in[0].shape()) / o, f = in[1].shape()[1];
    const Product product({in[1].data, f, o, type}, false, {in[0].data, o, n, type}, false, {out[0].data, f, n, type}, tf32, queue);
    return queued([product] { product.run(); });
  }
  if (spec.kind != "linearBackwardWeights") return nullptr;
  const int64_t f = in[0].shape().back(), n = elements_of(in[0].shape()) / f, o = in[1].shape().back();
  const Product product({in[0].data, f, n, type}, false, {in[1].data, o, n, type}, true, {out[0].data, f, o, Type::f32}, tf32, queue);
  return queued([product, &stream, gy = in[1], gb = out[1].as<float>(), partials = static_cast<float*>(spec.scratch)] {
    product.run();
    if (gb) queue_bias_gradient(gy, gy.shape().back(), gb, partials, stream);
  });
}

}  // namespace arbalest::cuda
