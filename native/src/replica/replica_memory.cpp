#include "replica/replica_memory.h"

#include <algorithm>
#include <utility>

namespace arbalest {

ReplicaMemory::ReplicaMemory(Backend& backend, ParameterLayout layout, std::shared_ptr<Memory> weights,
                             std::shared_ptr<ActivationArenas> arenas, HostTierSpec tier, MovedVectors moved)
    : backend_(backend),
      moved_(std::move(moved)),
      states_(moved_.states(backend)),
      vectors_(moved_.vectors(backend)),
      layout_(std::move(layout)),
      weights_(std::move(weights)),
      shares_weights_(weights_ != nullptr),
      tier_spec_(std::move(tier)),
      arenas_(std::move(arenas)) {
  check_sizes(backend_, layout_);
  if (!weights_) weights_ = std::make_shared<Memory>(vectors_, layout_.bytes);
}

void ReplicaMemory::provide(const Program& program, bool owns_optimiser) {
  const auto wanted = [&](Arena arena) { return program.arena_bytes[static_cast<size_t>(arena)]; };
  if (wanted(Arena::gradients) && !gradients_) gradients_ = std::make_shared<Memory>(vectors_, layout_.bytes);
  if (wanted(Arena::statistics)) {
    if (!statistics_.data()) statistics_ = Memory(backend_, wanted(Arena::statistics));
    if (statistics_.bytes() != wanted(Arena::statistics))
      throw Error("INVALID_PROGRAM",
                  "program " + program.name + ": its statistics are not laid out as the replica's; compile both from one model");
  }
  if (const auto optimiser = optimiser_of(program)) provide_training(program, *optimiser, owns_optimiser);
}

void ReplicaMemory::provide_training(const Program& program, const OptimiserSpec& optimiser, bool owns_optimiser) {
  if (!gradients_) gradients_ = std::make_shared<Memory>(vectors_, layout_.bytes);
  if (optimiser.accumulate > 1 && !accumulated_.data()) accumulated_ = Memory(vectors_, layout_.bytes);
  if (optimiser_ && !(optimiser_->spec() == optimiser))
    throw Error("INVALID_PROGRAM", "program " + program.name + ": its optimiser is not that of the replica's other programs");
  if (!optimiser_ && owns_optimiser) optimiser_ = std::make_shared<Optimiser>(states_, layout_, optimiser);
}

bool ReplicaMemory::share(size_t bytes, size_t staged) {
  const std::shared_ptr<ActivationArenas> arenas = std::exchange(arenas_, nullptr);
  if (!arenas || bytes > arenas->bytes() || staged > arenas->staged()) return false;
  user_ = std::make_unique<ArenaUser>(arenas, bytes);
  return true;
}

void ReplicaMemory::own_activations(size_t bytes, size_t staged) {
  // What throws comes first: kernels still run over the present activations.
  Memory activations(backend_, bytes);
  std::unique_ptr<HostTier> tier = make_tier(backend_, staged, tier_spec_);
  abandon_transfers();
  backend_.synchronise();
  arenas_.reset();
  user_.reset();
  tier_ = std::move(tier);
  activations_ = std::move(activations);
  staged_ = staged;
}

void ReplicaMemory::settle_transfer(size_t transfer) {
  const auto found = std::ranges::find(unsettled_, transfer, &std::pair<size_t, const void*>::first);
  if (found == unsettled_.end()) return;
  const void* const vector = found->second;
  unsettled_.erase(found);
  moved_.tier->settle(transfer, vector);
}

void ReplicaMemory::abandon_transfers() noexcept {
  // Other replicas may use the same vectors: no transfer but its own is given up, and these are waited for.
  for (const auto& [transfer, vector] : std::exchange(unsettled_, {})) {
    try {
      moved_.tier->settle(transfer, vector);
    } catch (const Error&) {
      // The next call that needs the vector throws it.
    }
  }
  // An arena that it does not have is another replica's, with its transfers.
  if (user_ && !user_->has()) return;
  if (HostTier* const tier = this->tier()) tier->abandon();
}

ReplicaBytes ReplicaMemory::bytes() const {
  const auto held = [this](const Memory& vector) { return vector.device() == &backend_ ? vector.bytes() : 0; };
  ReplicaBytes bytes;
  if (!shares_weights_) bytes.weights = held(*weights_);
  if (gradients_) bytes.gradients = held(*gradients_);
  bytes.statistics = statistics_.bytes();
  bytes.activations = activations_.bytes();
  bytes.optimiser = held(accumulated_) + (optimiser_ && &optimiser_->backend() == &backend_ ? optimiser_->bytes() : 0);
  return bytes;
}

size_t ReplicaMemory::update_bytes(const TrainingGroup* group) const {
  return group ? group->update_bytes(optimiser_.get()) : optimiser_->step_bytes(OptimiserPass::ContributionKind::none);
}

std::byte* ReplicaMemory::address(const PlacedValue& value) const {
  switch (value.arena) {
    case Arena::weights: return weights_->data() + value.offset;
    case Arena::gradients: return gradients_->data() + value.offset;
    case Arena::statistics: return statistics_.data() + value.offset;
    case Arena::activations: return activations() + value.offset;
    case Arena::staged: return nullptr;
  }
  return nullptr;
}

const Memory& ReplicaMemory::vector(VectorName which) {
  if (which == VectorName::weights) return *weights_;
  if (which == VectorName::gradients) {
    if (!gradients_) gradients_ = std::make_shared<Memory>(vectors_, layout_.bytes);
    return *gradients_;
  }
  if (const Memory* state = optimiser_ ? optimiser_->state(which) : nullptr) return *state;
  throw Error("UNKNOWN_NAME", "vector: the replica keeps no such state; its optimiser has another, or its group has the optimiser");
}

void ReplicaMemory::keep_gradients(bool first) {
  const void* const gradients = gradients_->data();
  vectors_.average({layout_.type(), 0, elements(), first ? nullptr : accumulated_.data(), accumulated_.data(), {&gradients, 1}});
}

void ReplicaMemory::average_gradients(size_t begin, size_t end, int64_t batches) {
  const void* const summands[] = {accumulated_.data(), gradients_->data()};
  vectors_.average({layout_.type(), begin, end, nullptr, gradients_->data(), summands, 1.0 / static_cast<double>(batches)});
}

void ReplicaMemory::step(double rate) {
  OptimiserPass pass;
  pass.weights = weights_->data();
  pass.next = weights_->data();
  pass.gradients = gradients_->data();
  pass.rate = rate;
  optimiser_->begin(weights_->data(), gradients_->data());
  optimiser_->apply(pass, 0, elements());
}

void ReplicaMemory::capture(Snapshot& snapshot) const {
  snapshot.keep("weights", *weights_);
  if (optimiser_) optimiser_->capture(snapshot, "");
}

void ReplicaMemory::restore(const Snapshot& snapshot) {
  snapshot.give("weights", *weights_);
  if (optimiser_) optimiser_->restore(snapshot, "");
}

}  // namespace arbalest
