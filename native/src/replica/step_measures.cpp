#include "replica/step_measures.h"

#include <algorithm>
#include <cstring>

namespace arbalest {
namespace {

const PlacedValue* named(const Program& program, const char* name) {
  const auto found = program.named.find(name);
  return found == program.named.end() ? nullptr : &program.values[static_cast<size_t>(found->second)];
}

// A number of any of the types that a measure may have.
struct Number {
  alignas(8) std::array<std::byte, 8> bytes{};

  template <class T> double as() const {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    return static_cast<double>(value);
  }
  double of(const PlacedValue& placed) const {
    if (placed.spec.type == Type::f64) return as<double>();
    if (placed.spec.type == Type::f32) return as<float>();
    if (placed.spec.type == Type::i32) return as<int32_t>();
    throw Error("INVALID_PROGRAM", "value " + placed.name + ": a loss or a count is f32, f64 or i32");
  }
};

size_t bytes_of(const PlacedValue& measure) { return std::min<size_t>(8, size_of(measure.spec.type)); }

// Bytes that are read at once.
constexpr size_t kClose = 256;

}  // namespace

StepMeasures::StepMeasures(const Program& program, const ReplicaMemory& memory)
    : memory_(memory), loss_(named(program, "loss")), correct_(named(program, "correct")) {}

void StepMeasures::begin() {
  earlier_ = {};
  kept_.reset();
}

void StepMeasures::advance() {
  earlier_ = both();
  kept_.reset();
}

void StepMeasures::keep() {
  const std::optional<Pair> found = read_at_once();
  kept_ = found ? *found : read_apart();
}

std::optional<StepMeasures::Pair> StepMeasures::read_at_once() const {
  if (!loss_ || !correct_ || loss_->arena != correct_->arena) return std::nullopt;
  const auto [first, last] = std::minmax(loss_, correct_, [](auto* a, auto* b) { return a->offset < b->offset; });
  const size_t bytes = last->offset - first->offset + bytes_of(*last);
  std::array<std::byte, kClose> read;
  if (bytes > read.size()) return std::nullopt;
  const Reading reading{read.data(), memory_.address(*first), bytes};
  memory_.backend().read_together({&reading, 1});
  const auto number_at = [&](const PlacedValue& placed) {
    Number number;
    std::memcpy(number.bytes.data(), read.data() + (placed.offset - first->offset), bytes_of(placed));
    return number.of(placed);
  };
  return Pair{number_at(*loss_), number_at(*correct_)};
}

StepMeasures::Pair StepMeasures::read_apart() const {
  const std::array measured{loss_, correct_};
  std::array<Number, 2> numbers;
  std::array<Reading, 2> readings;
  size_t wanted = 0;
  for (size_t i = 0; i < measured.size(); ++i)
    if (measured[i]) readings[wanted++] = {numbers[i].bytes.data(), memory_.address(*measured[i]), bytes_of(*measured[i])};
  memory_.backend().read_together({readings.data(), wanted});
  Pair found{};
  for (size_t i = 0; i < measured.size(); ++i)
    if (measured[i]) found[i] = numbers[i].of(*measured[i]);
  return found;
}

}  // namespace arbalest
