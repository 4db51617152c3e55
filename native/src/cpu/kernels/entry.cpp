#include "cpu/kernels/kernels.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/vector_passes.h"

namespace arbalest::kernels {
namespace {

bool lower_ours(const LoweringRequest& request, LoweringAnswer& answer) {
  const Operator* op = OperatorTable<Operator>::find(request.kind);
  if (!op) return false;
  answer = lower(*op, request);
  return true;
}

// A program may have been made without `lower`: its shapes, types and layouts must be those of the answer.
void check_lowered(const Operator& op, const OperatorSpec& spec) {
  LoweringRequest request{spec.kind, spec.attributes, {}, {}, spec.precision};
  for (const Tensor& tensor : spec.inputs) request.inputs.push_back(tensor.spec);
  for (const Tensor& tensor : spec.outputs) request.outputs.push_back(tensor.spec);
  const LoweringAnswer answer = lower(op, request);
  const auto compare = [&](const std::vector<Tensor>& tensors, const std::vector<TensorSpec>& answers) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorSpec& given = tensors[i].spec;
      if (given.shape.empty() || (given.type == answers[i].type && given.layout == answers[i].layout)) continue;
      throw Error("INVALID_PROGRAM", "operator " + spec.name + ": a tensor of shape " + shown(given.shape) + " in layout " + given.layout +
                                         "; give it the type and the layout that `lower` answers, " + answers[i].layout);
    }
  };
  compare(spec.inputs, answer.inputs);
  compare(spec.outputs, answer.outputs);
}

std::unique_ptr<Kernel> make_ours(const OperatorSpec& spec) {
  const Operator* op = OperatorTable<Operator>::find(spec.kind);
  if (!op) return nullptr;
  check_lowered(*op, spec);
  return op->make(spec);
}

constexpr KernelLibrary kLibrary{kInstructionSet, kLanes == 16 ? 16 : 8, lower_ours, make_ours, optimise, average, blend,
                                 squares,         measure_peak};

}  // namespace
}  // namespace arbalest::kernels

const arbalest::KernelLibrary* arbalest_kernels() { return &arbalest::kernels::kLibrary; }
