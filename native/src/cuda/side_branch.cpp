#include "cuda/side_branch.h"

#include <algorithm>

#include "cuda/device_stream.h"
#include "cuda/settings.h"

namespace arbalest::cuda {

Accesses::Accesses(const OperatorSpec& spec, Backend& backend) {
  const auto add = [](std::vector<Bytes>& to, const void* data, size_t bytes) {
    if (data && bytes > 0) to.push_back(range(data, bytes));
  };
  for (const Tensor& input : spec.inputs)
    if (input) add(reads_, input.data, backend.bytes(input.spec));
  for (const Tensor& output : spec.outputs)
    if (output) add(writes_, output.data, backend.bytes(output.spec));
  add(writes_, spec.scratch, spec.scratch_bytes);
}

Accesses Accesses::reading(const void* begin, size_t bytes) {
  Accesses accesses;
  accesses.reads_ = {range(begin, bytes)};
  return accesses;
}

Accesses Accesses::writing(const void* begin, size_t bytes) {
  Accesses accesses;
  accesses.writes_ = {range(begin, bytes)};
  return accesses;
}

Accesses::Bytes Accesses::range(const void* begin, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  return {address, address + bytes};
}

bool Accesses::overlap(const std::vector<Bytes>& some, const std::vector<Bytes>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Bytes& one) {
    return std::any_of(others.begin(), others.end(), [&](const Bytes& other) { return one.begin < other.end && other.begin < one.end; });
  });
}

bool Accesses::conflict_with(const Accesses& other) const {
  return overlap(writes_, other.writes_) || overlap(writes_, other.reads_) || overlap(reads_, other.writes_);
}

void SideBranch::record(const std::function<void()>& work) {
  queued_.clear();
  recording_ = true;
  try {
    work();
    if (!queued_.empty()) stream_.await_side(queued_.back().end);
  } catch (...) {
    recording_ = false;
    queued_.clear();
    throw;
  }
  recording_ = false;
  queued_.clear();
}

void SideBranch::queue(std::span<const Accesses* const> accesses, bool may_leave, const std::function<void()>& work) {
  // The side branch runs its kernels in order. A wait for one of them is a wait for all before it.
  const bool leaves = may_leave && recording_ && settings().side_branch;
  for (size_t i = leaves ? 0 : queued_.size(); i-- > 0;) {
    const bool apart = std::ranges::equal(queued_[i].accesses, accesses, [](const Accesses* earlier, const Accesses* later) {
      return earlier && later && !later->conflict_with(*earlier);
    });
    if (apart) continue;
    stream_.await_side(queued_[i].end);
    queued_.erase(queued_.begin(), queued_.begin() + static_cast<ptrdiff_t>(i) + 1);
    break;
  }
  if (!leaves) return work();
  stream_.begin_side();
  try {
    work();
  } catch (...) {
    stream_.end_side();
    throw;
  }
  queued_.push_back({{accesses.begin(), accesses.end()}, stream_.end_side()});
}

void SideBranch::await(const Accesses& accesses) {
  const Accesses* const own = &accesses;
  queue(std::span(&own, 1), false, [] {});
}

}  // namespace arbalest::cuda
