#include <algorithm>

#include "cpu/onednn/layouts.h"
#include "cpu/onednn/primitive_kernel.h"

namespace arbalest {
namespace {

dnnl::reorder::primitive_desc described(const TensorSpec& from, const TensorSpec& to, const dnnl::engine& engine) {
  if (from.shape != to.shape)
    throw Error("INVALID_PROGRAM", "reorder: received two shapes; a reorder changes layout and element type only");
  const int64_t groups = std::max(groups_of(from.layout), groups_of(to.layout));
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {engine, descriptor_of(from, groups), engine, descriptor_of(to, groups), attr};
}

}  // namespace

LoweringAnswer lower_reorder(const LoweringRequest& request, const dnnl::engine& engine) {
  if (request.inputs.size() != 1 || request.outputs.size() != 1 || request.inputs[0].layout == kAny) {
    throw Error("INVALID_PROGRAM", "reorder: takes one tensor whose layout is known and gives one");
  }
  LoweringAnswer answer;
  answer.inputs = request.inputs;
  answer.outputs = request.outputs;
  if (answer.outputs[0].layout == kAny) answer.outputs[0].layout = answer.inputs[0].layout;
  const auto primitive = described(answer.inputs[0], answer.outputs[0], engine);
  answer.implementation = primitive.impl_info_str();
  answer.scratch_bytes = primitive.query_md(dnnl::query::scratchpad_md).get_size();
  return answer;
}

std::unique_ptr<Kernel> make_reorder(const Tensor& from, const Tensor& to, void* scratch, size_t scratch_bytes,
                                     const dnnl::engine& engine) {
  const int64_t groups = std::max(groups_of(from.spec.layout), groups_of(to.spec.layout));
  const std::vector<PrimitiveKernel::Argument> arguments{{DNNL_ARG_FROM, descriptor_of(from.spec, groups), from.data},
                                                         {DNNL_ARG_TO, descriptor_of(to.spec, groups), to.data}};
  return std::make_unique<PrimitiveKernel>(described(from.spec, to.spec, engine), arguments, engine, scratch, scratch_bytes);
}

}  // namespace arbalest
