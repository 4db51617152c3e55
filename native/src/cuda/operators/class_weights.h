// How much each class counts in a loss.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "core/everywhere.h"
#include "cuda/device_backend.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {

struct ClassWeights {
  const float* each;  // (K), or null: 1
  float mean;

  EVERYWHERE float operator[](int label) const { return each ? each[label] : 1; }
};

// Owned by the kernels that read it.
class ClassWeightsMemory {
 public:
  ClassWeightsMemory(const OperatorSpec& spec, DeviceStream& stream) {
    const std::vector<double> given = spec.attributes.list("weights", {});
    if (given.empty()) return;
    const std::vector<float> numbers(given.begin(), given.end());
    const size_t bytes = numbers.size() * sizeof(float);
    DeviceBackend& backend = stream.backend();
    memory_ = {backend.allocate(bytes), [&backend, bytes](void* memory) { backend.release(memory, bytes); }};
    backend.write(memory_.get(), numbers.data(), bytes);
    weights_ = {static_cast<const float*>(backend.seen(memory_.get())),
                std::accumulate(numbers.begin(), numbers.end(), 0.0f) / static_cast<float>(numbers.size())};
  }

  const ClassWeights& weights() const { return weights_; }

 private:
  std::shared_ptr<void> memory_;
  ClassWeights weights_{nullptr, 1};
};

}  // namespace arbalest::cuda
