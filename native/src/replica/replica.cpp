#include "replica/replica.h"

#include <algorithm>

#include "core/blocked_signals.h"

namespace arbalest {
namespace {

ParameterLayout checked(ParameterLayout layout, const TrainingGroup* group) {
  if (group && !same_layout(layout, group->layout()))
    throw Error("INVALID_PROGRAM", "replica: its parameter layout is not the group's; compile its programs with the group's parameters");
  return layout;
}

std::shared_ptr<ActivationArenas> checked(std::shared_ptr<ActivationArenas> arenas, const Stream* stream) {
  // Work that is queued on a stream still uses the arena when `run` returns.
  if (arenas && stream)
    throw Error("INVALID_OPTION", "arenas: received some; replicas on a GPU have activations of their own: leave them out");
  return arenas;
}

}  // namespace

// Access to the replica's memory by the calling thread: on its stream, after all work of its group on its vectors, queued or due.
class Replica::Access {
 public:
  explicit Access(const Replica& replica) : Access(replica, true) {}
  // A training step need not finish the due step: its own calls to the group wait where they must.
  Access(const Replica& replica, bool finishes_due_step) : used_(replica.backend_, replica.stream_.get()) {
    if (!replica.group_) return;
    if (finishes_due_step) replica.group_->finish_due_step(replica.learner_);
    replica.group_->follow();
  }

 private:
  const UsedStream used_;
};

Replica::Replica(Backend& backend, ReplicaSpec spec)
    : backend_(backend),
      device_(spec.device),
      threads_(spec.threads),
      seed_(spec.seed),
      group_(std::move(spec.group)),
      learner_(spec.learner),
      stream_(backend.stream()),
      memory_(backend, checked(std::move(spec.layout), group_.get()), group_ ? group_->shared_weights() : nullptr,
              checked(std::move(spec.arenas), stream_.get()), std::move(spec.tier), std::move(spec.moved)),
      lease_(spec.lease ? std::make_unique<LeaseUser>(spec.lease, spec.job, group_ ? LeaseUser::Kind::learner : LeaseUser::Kind::evaluator)
                        : nullptr) {}

Replica::~Replica() {
  // No work may be left in memory that is freed.
  const UsedStream used(backend_, stream_.get());
  memory_.abandon_transfers();
  try {
    backend_.synchronise();
  } catch (const Error&) {
    // The last call that ran the replica has thrown it.
  }
  slots_.clear();
}

StepLoop& Replica::steps(int slot) const {
  if (slot < 0 || static_cast<size_t>(slot) >= slots_.size())
    throw Error("INVALID_STATE",
                "slot: received " + std::to_string(slot) + "; the replica has " + std::to_string(slots_.size()) + " programs");
  return *slots_[static_cast<size_t>(slot)];
}

int Replica::bind(std::shared_ptr<const Program> program, const Source& source) {
  check_parameters(*program, layout());
  memory_.provide(*program, !group_ || !group_->has_optimiser());
  const UsedStream used(backend_, stream_.get());
  backend_.synchronise();
  // Kernels are made for as many threads as will run them.
  backend_.use_threads(threads_);
  const size_t bytes = program->arena_bytes[static_cast<size_t>(Arena::activations)];
  const size_t staged = program->arena_bytes[static_cast<size_t>(Arena::staged)];
  const bool shares = memory_.share(bytes, staged);
  if (!shares && (memory_.user() || bytes > memory_.own_bytes() || staged > memory_.own_staged())) own_activations(bytes, staged);
  const StepOwner owner{memory_, group_.get(), learner_, seed_, stream_ != nullptr, lease_.get(), cancelled_};
  slots_.push_back(std::make_unique<StepLoop>(std::move(program), source, owner));
  return static_cast<int>(slots_.size()) - 1;
}

// Large enough for every program.
void Replica::own_activations(size_t bytes, size_t staged) {
  for (const auto& each : slots_) {
    const auto& arenas = each->bound().program().arena_bytes;
    bytes = std::max(bytes, arenas[static_cast<size_t>(Arena::activations)]);
    staged = std::max(staged, arenas[static_cast<size_t>(Arena::staged)]);
  }
  memory_.own_activations(bytes, staged);
  // No program may keep kernels over the former activations, also if those of another one cannot be made.
  for (const auto& each : slots_) each->moved();
  // For as many threads as will run them: the calling thread may have run another replica's last.
  backend_.use_threads(threads_);
  for (const auto& each : slots_) each->bound().make_kernels();
}

RunReport Replica::run(int slot, const RunLimits& limits) {
  StepLoop& steps = this->steps(slot);
  const Access access(*this, !steps.bound().trains());
  backend_.use_threads(threads_);
  const BlockedSignals blocked;
  return steps.run(limits);
}

Outcome Replica::run_segment(int slot, Segment segment, const RunLimits& limits) {
  StepLoop& steps = this->steps(slot);
  const Access access(*this, !steps.bound().trains());
  backend_.use_threads(threads_);
  if (memory_.user()) own_activations();
  const BlockedSignals blocked;
  return steps.run_segment(segment, limits);
}

TensorSpec Replica::value_spec(int slot, const std::string& name) const {
  TensorSpec spec = steps(slot).bound().readable(name).spec;
  if (spec.type == Type::bf16) spec.type = Type::f32;
  spec.layout = kPlain;
  return spec;
}

void Replica::read_value(int slot, const std::string& name, std::byte* canonical) {
  const Access access(*this);
  const PlacedValue& value = steps(slot).bound().readable(name);
  if (memory_.user() && value.arena == Arena::activations)
    throw Error("INVALID_STATE",
                "value: received " + name + "; it lay in an arena that the replica shares: make the replica without arenas");
  memory_.vectors_backend().reorder({value.spec, memory_.address(value)}, {value_spec(slot, name), canonical});
}

void Replica::write_value(int slot, const std::string& name, const std::byte* canonical) {
  const Access access(*this);
  const PlacedValue& value = steps(slot).bound().readable(name);
  if (memory_.user() && value.arena == Arena::activations) own_activations();
  memory_.vectors_backend().reorder({value_spec(slot, name), const_cast<std::byte*>(canonical)}, {value.spec, memory_.address(value)});
}

void Replica::read_vector(VectorName which, std::byte* canonical) {
  const Access access(*this);
  to_canonical(memory_.vectors_backend(), layout(), memory_.vector(which).data(), canonical);
}

void Replica::write_vector(VectorName which, const std::byte* canonical) {
  const Access access(*this);
  from_canonical(memory_.vectors_backend(), layout(), canonical, memory_.vector(which).data());
}

int64_t Replica::adopt(const TrainingGroup& group) {
  const Access access(*this);
  if (!same_layout(layout(), group.layout()))
    throw Error("INVALID_PROGRAM", "replica: its parameter layout is not the group's; compile its programs with the group's parameters");
  return group.copy_central(device_, memory_.weights());
}

void Replica::capture(Snapshot& snapshot) const {
  const Access access(*this);
  memory_.capture(snapshot);
}

void Replica::restore(const Snapshot& snapshot) {
  const Access access(*this);
  memory_.restore(snapshot);
}

}  // namespace arbalest
