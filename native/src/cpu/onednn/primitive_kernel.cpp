#include "cpu/onednn/primitive_kernel.h"

#include "cpu/onednn/layer.h"
#include "cpu/onednn/layouts.h"

namespace arbalest {

PrimitiveKernel::PrimitiveKernel(const dnnl::primitive_desc_base& primitive, const std::vector<Argument>& arguments,
                                 const dnnl::engine& engine, void* scratch, size_t scratch_bytes)
    : primitive_(primitive.get()), stream_(engine) {
  memories_.reserve(arguments.size() + 1);
  for (const Argument& argument : arguments) add(argument, engine);
  const auto wanted = primitive.query_md(dnnl::query::scratchpad_md);
  if (wanted.get_size() == 0) return;
  if (wanted.get_size() > scratch_bytes) {
    own_scratch_ = Pages(allocate_pages(wanted.get_size()), PageRelease{wanted.get_size()});
    scratch = own_scratch_.get();
  }
  add({DNNL_ARG_SCRATCHPAD, wanted, scratch}, engine);
}

void PrimitiveKernel::add(const Argument& argument, const dnnl::engine& engine) {
  memories_.emplace_back(argument.descriptor, engine, argument.data);
  arguments_.push_back({argument.name, memories_.back().get()});
}

void PrimitiveKernel::run(const StepContext&) {
  const auto status = dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success) throw Error("INTERNAL", "oneDNN: a primitive failed with status " + std::to_string(status));
}

std::unique_ptr<Kernel> make_layer(const OperatorSpec& spec, const dnnl::engine& engine) {
  const auto specs_of = [](const std::vector<Tensor>& tensors) {
    std::vector<TensorSpec> specs;
    for (const Tensor& tensor : tensors) specs.push_back(tensor.spec);
    return specs;
  };
  const Layer layer = layer_of(spec.kind, spec.attributes, specs_of(spec.inputs), specs_of(spec.outputs), spec.precision);
  std::vector<PrimitiveKernel::Argument> arguments;
  for (int r = 0; r < kRoles; ++r) {
    const Role role = static_cast<Role>(r);
    const Position at = position_of(layer.pass, role);
    if (at.index < 0 || layer.tensors[role].shape.empty()) continue;
    const Tensor& tensor = (at.output ? spec.outputs : spec.inputs)[at.index];
    if (tensor.spec.type != layer.tensors[role].type || tensor.spec.layout == kAny)
      throw Error("INVALID_PROGRAM", "operator " + spec.name + ": a tensor is not of the type and the layout that `lower` answers");
    arguments.push_back({argument_of(layer.pass, role), descriptor_of(layer.tensors[role], role == kW ? layer.groups : 1), tensor.data});
  }
  return std::make_unique<PrimitiveKernel>(describe(layer, engine), arguments, engine, spec.scratch, spec.scratch_bytes);
}

}  // namespace arbalest
