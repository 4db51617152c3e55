#include "cuda/beside.h"

#include <algorithm>

#include "cuda/device_stream.h"

namespace arbalest::cuda {

Touched::Touched(const OperatorSpec& spec, Backend& backend) {
  const auto add = [](std::vector<Bytes>& to, const void* data, size_t bytes) {
    const auto begin = reinterpret_cast<uintptr_t>(data);
    if (data && bytes > 0) to.push_back({begin, begin + bytes});
  };
  for (const Tensor& input : spec.inputs)
    if (input) add(reads_, input.data, backend.bytes(input.spec));
  for (const Tensor& output : spec.outputs)
    if (output) add(writes_, output.data, backend.bytes(output.spec));
  add(writes_, spec.scratch, spec.scratch_bytes);
}

bool Touched::overlap(const std::vector<Bytes>& some, const std::vector<Bytes>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Bytes& one) {
    return std::any_of(others.begin(), others.end(), [&](const Bytes& other) { return one.begin < other.end && other.begin < one.end; });
  });
}

bool Touched::meets(const Touched& other) const {
  return overlap(writes_, other.writes_) || overlap(writes_, other.reads_) || overlap(reads_, other.writes_);
}

void Beside::record(const std::function<void()>& work) {
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

void Beside::queue(const Touched& touched, bool aside, const std::function<void()>& work) {
  // Kernels aside run in their order: whoever waits for one has waited for those before it.
  for (size_t i = queued_.size(); i-- > 0;) {
    if (aside || !touched.meets(*queued_[i].touched)) continue;
    stream_.await_side(queued_[i].end);
    queued_.erase(queued_.begin(), queued_.begin() + static_cast<ptrdiff_t>(i) + 1);
    break;
  }
  if (!aside || !recording_) return work();
  stream_.to_side();
  try {
    work();
  } catch (...) {
    stream_.from_side();
    throw;
  }
  queued_.push_back({&touched, stream_.from_side()});
}

}  // namespace arbalest::cuda
