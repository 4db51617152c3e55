#include "replica/step_measures.h"

#include <algorithm>
#include <cstring>

namespace arbalest {
namespace {

const PlacedValue* named(const Program& program, const char* name) {
  const auto found = program.named.find(name);
  return found == program.named.end() ? nullptr : &program.values[static_cast<size_t>(found->second)];
}

template <class T> double as(const std::byte* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

double number_of(const PlacedValue& measure, const std::byte* bytes) {
  if (measure.spec.type == Type::f64) return as<double>(bytes);
  if (measure.spec.type == Type::f32) return as<float>(bytes);
  if (measure.spec.type == Type::i32) return as<int32_t>(bytes);
  throw Error("INVALID_PROGRAM", "value " + measure.name + ": a loss or a count is f32, f64 or i32");
}

size_t bytes_of(const PlacedValue& measure) { return std::min<size_t>(8, size_of(measure.spec.type)); }

// Bytes that are read at once.
constexpr size_t kClose = 256;

}  // namespace

StepMeasures::StepMeasures(const Program& program, const ReplicaMemory& memory)
    : memory_(memory), measures_{named(program, "loss"), named(program, "correct")} {}

void StepMeasures::begin() {
  earlier_ = {};
  renew();
}

void StepMeasures::advance() {
  earlier_ = both();
  renew();
}

void StepMeasures::read() {
  if (kept_) return;
  if (is_read_back_)
    kept_ = await_readback();
  else if (const std::optional<Pair> found = read_at_once())
    kept_ = found;
  else
    kept_ = read_apart();
}

Readback* StepMeasures::readback() {
  if (!readback_ && !readings().empty()) readback_ = memory_.backend().readback(readings());
  return readback_.get();
}

void StepMeasures::forget_readback() {
  readback_.reset();
  queued_ = 0;
}

std::optional<StepMeasures::Pair> StepMeasures::read_at_once() const {
  const auto [loss, correct] = measures_;
  if (!loss || !correct || loss->arena != correct->arena) return std::nullopt;
  const auto [first, last] = std::minmax(loss, correct, [](auto* a, auto* b) { return a->offset < b->offset; });
  const size_t begin = first->offset, bytes = last->offset - begin + bytes_of(*last);
  std::array<std::byte, kClose> read;
  if (bytes > read.size()) return std::nullopt;
  const Reading reading{read.data(), memory_.address(*first), bytes};
  memory_.backend().read_together({&reading, 1});
  const auto number_at = [&](const PlacedValue& placed) { return number_of(placed, read.data() + (placed.offset - begin)); };
  return Pair{number_at(*loss), number_at(*correct)};
}

StepMeasures::Pair StepMeasures::read_apart() {
  memory_.backend().read_together(readings());
  return landed();
}

StepMeasures::Pair StepMeasures::await_readback() {
  readback_->await(queued_);
  return landed();
}

std::span<const Reading> StepMeasures::readings() {
  size_t wanted = 0;
  for (size_t i = 0; i < measures_.size(); ++i)
    if (const PlacedValue* const measure = measures_[i])
      readings_[wanted++] = {landed_[i].data(), memory_.address(*measure), bytes_of(*measure)};
  return std::span(readings_).first(wanted);
}

StepMeasures::Pair StepMeasures::landed() const {
  Pair found{};
  for (size_t i = 0; i < measures_.size(); ++i)
    if (measures_[i]) found[i] = number_of(*measures_[i], landed_[i].data());
  return found;
}

}  // namespace arbalest
