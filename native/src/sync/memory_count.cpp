#include "sync/memory_count.h"

#include <algorithm>

#include "device/counting_backend.h"

namespace arbalest {
namespace {

// The bytes that `work` allocates on each device and does not release.
template <class Work> std::vector<size_t> allocated_by(const CountingBackend& backend, Work&& work) {
  const std::vector<size_t> before = backend.allocated();
  work();
  std::vector<size_t> taken = backend.allocated();
  for (size_t device = 0; device < before.size(); ++device) taken[device] -= before[device];
  return taken;
}

std::unique_ptr<Group> counted_group(CountingBackend& backend, const GroupSpec& spec) {
  const Memory initial(backend, spec.layout.elements * size_of(spec.layout.type()));
  return make_group(backend, spec, initial.data());
}

}  // namespace

MemoryCount count_memory(Backend& backend, const std::optional<GroupSpec>& group, std::span<const Program* const> programs,
                         CountedMove move) {
  constexpr int kLearner = 0;
  if (programs.empty()) throw Error("INVALID_OPTION", "programs: received none; give at least one");
  CountingBackend counting(backend);
  const ParameterLayout& layout = programs.front()->parameters;
  MemoryCount count;
  MovedVectors moved{move == CountedMove::none ? nullptr : StagedVectors::make(counting, layout, std::nullopt), move == CountedMove::all};
  if (moved.tier) count.windows = moved.tier->window_bytes();

  std::unique_ptr<Group> made;
  if (group) {
    GroupSpec spec = *group;
    spec.moved = moved;
    count.group = allocated_by(counting, [&] { made = counted_group(counting, spec); });
    const auto snapshot_of = [&] {
      Snapshot snapshot(made->snapshots(), layout);
      return allocated_by(counting, [&] { made->capture(snapshot); }).front();
    };
    const size_t without = snapshot_of();
    // As one that has begun: of a fresh one a snapshot has nothing.
    count.contribution = allocated_by(counting, [&] { made->join(kLearner, true); }).front();
    count.snapshot = snapshot_of() - without;
    count.recording = allocated_by(counting, [&] { made->round_figures(-1); }).front();
  }

  ReplicaMemory replica(counting, layout, made ? made->shared_weights() : nullptr, nullptr, {}, moved);
  size_t activations = 0;
  bool trains = false;
  for (const Program* const program : programs) {
    check_parameters(*program, layout);
    replica.provide(*program, !made || !made->has_optimiser());
    activations = std::max(activations, program->arena_bytes[static_cast<size_t>(Arena::activations)]);
    trains = trains || optimiser_of(*program);
  }
  replica.own_activations(activations, 0);
  count.replica = replica.bytes();
  if (!trains) return count;
  Snapshot snapshot(replica.vectors_backend(), layout);
  count.snapshot += allocated_by(counting, [&] { replica.capture(snapshot); }).front();
  count.update = replica.update_bytes(made.get());
  return count;
}

}  // namespace arbalest
