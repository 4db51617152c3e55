#include "replica/bound_program.h"

#include <algorithm>
#include <utility>

#include "core/buckets.h"
#include "replica/transfer_kernels.h"

namespace arbalest {

BoundProgram::BoundProgram(std::shared_ptr<const Program> program, const Source& source, ReplicaMemory& memory, const TrainingGroup* group)
    : program_(std::move(program)), source_(source), memory_(memory), transfers_(transfers_of(*program_)) {
  const std::span<const Bucket> buckets = group ? group->buckets() : std::span<const Bucket>{};
  for (size_t s = 0; s < kSegments; ++s)
    for (const PlacedOperator& op : program_->segments[s]) segments_[s].push_back(prepared(op, group));
  ends_ = {operators(Segment::backward).size()};
  if (const auto optimiser = optimiser_of(*program_)) {
    trains_ = true;
    accumulate_ = optimiser->accumulate;
    if (group) {
      const std::vector<int> first = first_readers(*program_, group->pulled_buckets());
      for (size_t bucket = 0; bucket < first.size(); ++bucket)
        if (first[bucket] >= 0) operators(Segment::forward)[static_cast<size_t>(first[bucket])].pulls.push_back(bucket);
    }
    const std::vector<int> last = last_writers(*program_, buckets);
    for (size_t bucket = 0; bucket < last.size(); ++bucket)
      if (last[bucket] >= 0) operators(Segment::backward)[static_cast<size_t>(last[bucket])].completes.push_back(bucket);
    // A transfer that begins in one recording cannot be settled in another.
    if (group && group->sends_buckets() && !transfers() && memory.backend().capabilities().recording_in_parts)
      ends_ = ends_of_parts(last, buckets, program_->parameters.type(), operators(Segment::backward).size());
  }
  if (moves_vectors(*program_) != (memory.moved_vectors() != nullptr))
    throw Error("INVALID_PROGRAM", "program " + program_->name +
                                       ": the replica's weights lie in another tier than the program takes them from; compile it for that");
  if (StagedVectors* const vectors = memory.moved_vectors()) first_vector_transfer_ = vectors->new_transfers(transfers_.size());
  make_kernels();
}

// What does not depend on where the activations lie.
BoundOperator BoundProgram::prepared(const PlacedOperator& op, const TrainingGroup* group) const {
  BoundOperator bound;
  bound.placed = &op;
  for (const auto* ids : {&op.inputs, &op.outputs})
    for (int id : *ids)
      if (id >= 0) bound.bytes += static_cast<double>(program_->values[static_cast<size_t>(id)].bytes);
  if (op.kind == "update") bound.bytes = static_cast<double>(memory_.update_bytes(group));
  return bound;
}

void BoundProgram::make_kernels() {
  const size_t arena = memory_.arena();
  if (made_.size() <= arena) made_.resize(arena + 1);
  if (made_[arena]) return;
  for (auto& segment : segments_) {
    for (BoundOperator& op : segment) {
      if (op.kernels.size() <= arena) op.kernels.resize(arena + 1);
      const std::string& kind = op.placed->kind;
      if (kind != "update" && kind != "exchange") op.kernels[arena] = kernel_of(*op.placed);
    }
  }
  made_[arena] = true;
}

std::unique_ptr<Kernel> BoundProgram::kernel_of(const PlacedOperator& op) const {
  if (const auto transfer = transfer_of(op)) return moving(op, *transfer);
  const OperatorSpec spec = placed(op);
  if (op.kind == "load") check_samples(spec);
  return memory_.backend().make(spec);
}

std::unique_ptr<Kernel> BoundProgram::moving(const PlacedOperator& op, const Transfer& transfer) const {
  const size_t number = static_cast<size_t>(std::ranges::find(transfers_, transfer) - transfers_.begin());
  const auto value = [&](int id) -> const PlacedValue& { return program_->values[static_cast<size_t>(id)]; };
  const bool fetched = value(transfer.to).arena == Arena::activations;
  const PlacedValue& on_device = fetched ? value(transfer.to) : value(transfer.from);
  if (moves_vector(*program_, op)) {
    const PlacedValue& vector = fetched ? value(transfer.from) : value(transfer.to);
    return vector_transfer_kernel(op, first_vector_transfer_ + number, memory_, memory_.address(vector), memory_.address(on_device),
                                  vector.bytes);
  }
  return transfer_kernel(op, number, *memory_.tier(), *program_, memory_.address(on_device));
}

void BoundProgram::forget_kernels() {
  recordings_.clear();
  ran_ = false;
  made_.clear();
  for (auto& segment : segments_)
    for (BoundOperator& op : segment) op.kernels.clear();
}

OperatorSpec BoundProgram::placed(const PlacedOperator& op) const {
  OperatorSpec spec;
  spec.kind = op.kind;
  spec.name = op.name;
  spec.attributes = op.attributes;
  spec.scratch = memory_.activations() + op.scratch_offset;
  spec.scratch_bytes = op.scratch_bytes;
  // Some operators compute in float32 in every program: sums of gradients of parameters.
  const bool wide = op.attributes.number("wide", 0) != 0;
  spec.precision = wide && program_->precision == Type::bf16 ? Type::f32 : program_->precision;
  spec.dataset = source_.kind();
  for (auto [ids, tensors] : {std::pair{&op.inputs, &spec.inputs}, std::pair{&op.outputs, &spec.outputs}}) {
    for (int id : *ids) {
      if (id < 0) {
        tensors->emplace_back();
        continue;
      }
      const PlacedValue& value = program_->values[static_cast<size_t>(id)];
      const size_t needed = memory_.backend().bytes(value.spec);
      if (value.bytes < needed)
        throw Error("INVALID_PROGRAM", "program " + program_->name + ": value " + value.name + " has " + std::to_string(value.bytes) +
                                           " bytes where its layout takes " + std::to_string(needed));
      tensors->push_back({value.spec, memory_.address(value)});
    }
  }
  return spec;
}

void BoundProgram::check_samples(const OperatorSpec& load) const {
  if (!source_) throw Error("INVALID_STATE", "program " + program_->name + ": it loads samples; bind it with a data set");
  const Shape shape = load.outputs.empty() ? Shape{} : load.outputs[0].shape();
  const Shape& sample = source_.sample();
  if (shape.empty() || !std::equal(shape.begin() + 1, shape.end(), sample.begin(), sample.end()))
    throw Error("SHAPE_MISMATCH", "program " + program_->name + ": its samples do not have the shape of the data set's");
}

std::span<const RecordedPart> BoundProgram::recordings(const StepContext& context, const void* company, Readback* readback) {
  if (!memory_.backend().capabilities().recording || !std::exchange(ran_, true) || profiling_) return {};
  if (recordings_.empty()) record(context, company, readback);
  return recordings_;
}

void BoundProgram::record(const StepContext& context, const void* company, Readback* readback) {
  const std::span<const BoundOperator> backward = operators(Segment::backward);
  const auto run = [&](std::span<const BoundOperator> some) {
    for (const BoundOperator& op : some) kernel(op)->run(context);
  };
  std::vector<RecordedPart> parts;
  size_t begin = 0;
  for (size_t end : ends_) {
    const std::span<const BoundOperator> part = backward.subspan(begin, end - begin);
    const bool is_first = parts.empty();
    auto recording = memory_.backend().record_kernels(
        [&] {
          if (is_first) {
            run(operators(Segment::load));
            run(operators(Segment::forward));
            if (readback) readback->queue();
          }
          run(part);
        },
        company);
    parts.push_back({std::move(recording), part, is_first && readback});
    begin = end;
  }
  recordings_ = std::move(parts);
}

const PlacedValue& BoundProgram::readable(const std::string& name) const {
  const auto named = program_->named.find(name);
  if (named != program_->named.end()) return program_->values[static_cast<size_t>(named->second)];
  for (const PlacedValue& value : program_->values)
    if (value.name == name && value.arena != Arena::activations && value.arena != Arena::staged) return value;
  std::string known;
  for (const auto& [each, id] : program_->named) known += (known.empty() ? "" : ", ") + each;
  throw Error("UNKNOWN_NAME",
              "value: received " + name + "; program " + program_->name + " keeps " + known + ", its parameters and its statistics");
}

std::vector<OperatorProfile> BoundProgram::profile() {
  profiling_ = true;
  std::vector<OperatorProfile> profiles;
  for (size_t s = 0; s < kSegments; ++s) {
    for (BoundOperator& op : segments_[s]) {
      const PlacedOperator& placed = *op.placed;
      const int64_t runs = std::exchange(op.runs, 0);
      const double seconds = std::exchange(op.seconds, 0);
      profiles.push_back({static_cast<Segment>(s), placed.kind, placed.name, placed.implementation, runs, seconds, placed.flops, op.bytes});
    }
  }
  return profiles;
}

}  // namespace arbalest
