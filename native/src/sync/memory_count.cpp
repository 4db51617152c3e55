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
  // What the vectors that `work` makes in the second tier take of the device is not among what it allocates.
  const auto taken_by = [&](auto&& work) {
    const auto windows = [&] { return moved.tier ? moved.tier->own_window_bytes() : 0; };
    const size_t before = windows();
    std::vector<size_t> bytes = allocated_by(counting, work);
    return std::pair(std::move(bytes), windows() - before);
  };

  std::unique_ptr<Group> made;
  if (group) {
    GroupSpec spec = *group;
    spec.moved = moved;
    const auto [of_group, windows] = taken_by([&] { made = counted_group(counting, spec); });
    count.group = of_group;
    count.windows += windows;
    const auto copies = [&] {
      Snapshot snapshot(made->snapshots(), layout);
      return taken_by([&] { made->capture(snapshot); });
    };
    const auto [without, windows_without] = copies();
    count.copy_windows = windows_without;
    // As one that has begun: of a fresh one a snapshot has nothing.
    const auto [contribution, own_windows] = taken_by([&] { made->join(kLearner, true); });
    count.contribution = contribution.front();
    count.learner_windows = own_windows;
    const auto [with, windows_with] = copies();
    count.snapshot = with.front() - without.front() + windows_with - windows_without;
    const auto [recording, recording_windows] = taken_by([&] { made->round_figures(-1); });
    count.recording = recording.front() + recording_windows;
  }

  std::optional<ReplicaMemory> replica;
  size_t activations = 0;
  bool trains = false;
  const auto provide = [&] {
    replica.emplace(counting, layout, made ? made->shared_weights() : nullptr, nullptr, HostTierSpec{}, moved);
    for (const Program* const program : programs) {
      check_parameters(*program, layout);
      replica->provide(*program, !made || !made->has_optimiser());
      activations = std::max(activations, program->arena_bytes[static_cast<size_t>(Arena::activations)]);
      trains = trains || optimiser_of(*program);
    }
  };
  count.learner_windows += taken_by(provide).second;
  replica->own_activations(activations, 0);
  count.replica = replica->bytes();
  if (!trains) return count;
  Snapshot snapshot(replica->vectors_backend(), layout);
  const auto [copied, windows_of_copies] = taken_by([&] { replica->capture(snapshot); });
  count.snapshot += copied.front() + windows_of_copies;
  count.update = replica->update_bytes(made.get());
  return count;
}

}  // namespace arbalest
