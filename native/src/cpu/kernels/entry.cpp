#include <optional>

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/vector_passes.h"

namespace arbalest::kernels {
namespace {

// The operator that runs the request; null if this library leaves it to another one.
const Operator* taken(const LoweringRequest& request) {
  return OperatorTable<Operator>::find(request.kind, [&](const Operator& op) { return takes(op, request); });
}

bool lower_ours(const LoweringRequest& request, LoweringAnswer& answer) {
  const Operator* op = taken(request);
  if (!op) return false;
  answer = lower(*op, request);
  return true;
}

LoweringRequest request_of(const OperatorSpec& spec) {
  LoweringRequest request{spec.kind, spec.attributes, {}, {}, spec.precision};
  for (const Tensor& tensor : spec.inputs) request.inputs.push_back(tensor.spec);
  for (const Tensor& tensor : spec.outputs) request.outputs.push_back(tensor.spec);
  return request;
}

// The first tensor that has not the type and layout that `lower` answers, with these; null if all have them.
std::optional<std::pair<TensorSpec, TensorSpec>> mismatch(const LoweringRequest& request, const LoweringAnswer& answer) {
  const auto within = [](const std::vector<TensorSpec>& given,
                         const std::vector<TensorSpec>& answers) -> std::optional<std::pair<TensorSpec, TensorSpec>> {
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].shape.empty() && (given[i].type != answers[i].type || given[i].layout != answers[i].layout))
        return std::pair{given[i], answers[i]};
    }
    return std::nullopt;
  };
  const auto found = within(request.inputs, answer.inputs);
  return found ? found : within(request.outputs, answer.outputs);
}

// A program may have been made without `lower`: its shapes, types and layouts must be those of the answer. Of what another library runs too
// they say whose the operator is.
std::unique_ptr<Kernel> make_ours(const OperatorSpec& spec) {
  const LoweringRequest request = request_of(spec);
  const Operator* op = taken(request);
  if (!op) return nullptr;
  if (const auto found = mismatch(request, lower(*op, request))) {
    if (op->takes) return nullptr;
    const auto& [given, answered] = *found;
    throw Error("INVALID_PROGRAM", "operator " + spec.name + ": a tensor of shape " + shown(given.shape) + " in layout " + given.layout +
                                       "; give it the type and the layout that `lower` answers, " + answered.layout);
  }
  return op->make(spec);
}

constexpr KernelLibrary kLibrary{
    kInstructionSet, kLanes == 16 ? 16 : 8, lower_ours, make_ours, optimise, optimise_and_average, average, blend, squares, measure_peak};

}  // namespace
}  // namespace arbalest::kernels

const arbalest::KernelLibrary* arbalest_kernels() { return &arbalest::kernels::kLibrary; }
