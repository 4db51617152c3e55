#include "step_measures.h"

namespace arbalest {
namespace {

const PlacedValue* named(const Program& program, const char* name) {
  const auto found = program.named.find(name);
  return found == program.named.end() ? nullptr : &program.values[static_cast<size_t>(found->second)];
}

template <class T> double read_as(Backend& backend, const std::byte* value) {
  T result{};
  backend.read(&result, value, sizeof result);
  return static_cast<double>(result);
}

}  // namespace

StepMeasures::StepMeasures(const Program& program, const ReplicaMemory& memory)
    : memory_(memory), loss_(named(program, "loss")), correct_(named(program, "correct")) {}

void StepMeasures::begin() {
  earlier_ = {};
  kept_.reset();
}

void StepMeasures::advance() {
  earlier_ = {loss(), correct()};
  kept_.reset();
}

double StepMeasures::value(const PlacedValue* placed) const {
  if (!placed) return 0;
  const std::byte* data = memory_.address(*placed);
  if (placed->spec.type == Type::f64) return read_as<double>(memory_.backend(), data);
  if (placed->spec.type == Type::f32) return read_as<float>(memory_.backend(), data);
  if (placed->spec.type == Type::i32) return read_as<int32_t>(memory_.backend(), data);
  throw Error("INVALID_PROGRAM", "value " + placed->name + ": a loss or a count is f32, f64 or i32");
}

}  // namespace arbalest
