#include <map>

#include "kernels.h"
#include "operator.h"
#include "vector_passes.h"

namespace arbalest::kernels {
namespace {

const Operator* find(const std::string& kind) {
  static const auto table = [] {
    std::map<std::string, Operator> operators;
    for (auto family : {load_operators, batch_norm_operators, batch_norm_backward_operators, fold_statistics_operators,
                        elementwise_operators, dropout_operators, max_pool_operators, average_pool_operators, global_average_pool_operators,
                        subsample_pad_operators, softmax_cross_entropy_operators, mean_squared_error_operators}) {
      for (Operator& op : family()) {
        const std::string name = op.kind;
        operators.emplace(name, std::move(op));
      }
    }
    return operators;
  }();
  const auto found = table.find(kind);
  return found == table.end() ? nullptr : &found->second;
}

bool lower_ours(const LoweringRequest& request, LoweringAnswer& answer) {
  const Operator* op = find(request.kind);
  if (!op) return false;
  answer = lower(*op, request);
  return true;
}

std::unique_ptr<Kernel> make_ours(const OperatorSpec& spec) {
  const Operator* op = find(spec.kind);
  return op ? op->make(spec) : nullptr;
}

constexpr KernelLibrary kLibrary{kInstructionSet, kLanes == 16 ? 16 : 8, lower_ours, make_ours, optimise, average, measure_peak};

}  // namespace
}  // namespace arbalest::kernels

const arbalest::KernelLibrary* arbalest_kernels() { return &arbalest::kernels::kLibrary; }
