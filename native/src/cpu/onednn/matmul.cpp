#include "cpu/onednn/matmul.h"

#include "cpu/onednn/layouts.h"
#include "cpu/onednn/onednn_compat.h"
#include "cpu/onednn/primitive_kernel.h"

namespace arbalest {
namespace {

// A matrix, or its transpose: the last two axes exchanged.
struct Operand {
  dnnl::memory::dims dims, strides;

  Operand(const Shape& shape, bool transposed) : dims(shape), strides(shape.size(), 1) {
    for (size_t axis = shape.size() - 1; axis-- > 0;) strides[axis] = strides[axis + 1] * shape[axis + 1];
    if (!transposed) return;
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
  }

  dnnl::memory::desc descriptor(Type type) const { return {dims, data_type_of(type), strides}; }
};

struct Matmul {
  dnnl::memory::desc a, b, y;
};

// `specs`: a, b, y. Throws INVALID_PROGRAM if their shapes do not fit.
Matmul matmul_of(const Attributes& attributes, const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs, Type type) {
  if (inputs.size() != 2 || outputs.size() != 1) throw Error("INVALID_PROGRAM", "matmul: it takes two tensors and gives one");
  const Shape &a = inputs[0].shape, &b = inputs[1].shape, &y = outputs[0].shape;
  const size_t rank = a.size();
  if (rank >= 2 && b.size() == rank) {
    const Operand left(a, attributes.number("transposeA", 0) != 0), right(b, attributes.number("transposeB", 0) != 0);
    Shape expected(left.dims);
    expected[rank - 1] = right.dims[rank - 1];
    const bool same_batch = std::equal(left.dims.begin(), left.dims.end() - 2, right.dims.begin());
    if (same_batch && left.dims[rank - 1] == right.dims[rank - 2] && y == expected)
      return {left.descriptor(type), right.descriptor(type), Operand(y, false).descriptor(type)};
  }
  throw Error("INVALID_PROGRAM",
              "matmul: received a " + shown(a) + ", b " + shown(b) + ", y " + shown(y) +
                  "; it takes (..., M, K) and (..., K, O), transposed where its attributes say so, and gives (..., M, O)");
}

dnnl::matmul::primitive_desc described(const Matmul& matmul, const dnnl::engine& engine) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return onednn::matmul(engine, matmul.a, matmul.b, matmul.y, attr);
}

}  // namespace

LoweringAnswer lower_matmul(const LoweringRequest& request, const dnnl::engine& engine) {
  const auto primitive = described(matmul_of(request.attributes, request.inputs, request.outputs, request.precision), engine);
  LoweringAnswer answer;
  answer.inputs = request.inputs;
  answer.outputs = request.outputs;
  for (std::vector<TensorSpec>* specs : {&answer.inputs, &answer.outputs}) {
    for (TensorSpec& spec : *specs) spec.type = request.precision, spec.layout = kPlain;
  }
  answer.implementation = primitive.impl_info_str();
  answer.scratch_bytes = primitive.query_md(dnnl::query::scratchpad_md).get_size();
  return answer;
}

std::unique_ptr<Kernel> make_matmul(const OperatorSpec& spec, const dnnl::engine& engine) {
  std::vector<TensorSpec> inputs, outputs;
  for (auto [tensors, specs] : {std::pair{&spec.inputs, &inputs}, std::pair{&spec.outputs, &outputs}}) {
    for (const Tensor& tensor : *tensors) {
      if (tensor.spec.type != spec.precision || tensor.spec.layout != kPlain)
        throw Error("INVALID_PROGRAM", "matmul " + spec.name + ": received a tensor of another type or layout; give the program's, plain");
      specs->push_back(tensor.spec);
    }
  }
  const Matmul matmul = matmul_of(spec.attributes, inputs, outputs, spec.precision);
  const std::vector<PrimitiveKernel::Argument> arguments{{DNNL_ARG_SRC, matmul.a, spec.inputs[0].data},
                                                         {DNNL_ARG_WEIGHTS, matmul.b, spec.inputs[1].data},
                                                         {DNNL_ARG_DST, matmul.y, spec.outputs[0].data}};
  return std::make_unique<PrimitiveKernel>(described(matmul, engine), arguments, engine, spec.scratch, spec.scratch_bytes);
}

}  // namespace arbalest
