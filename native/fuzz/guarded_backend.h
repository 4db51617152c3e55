// The reference backend with memory that the sanitizers watch: every arena and vector has red zones, and large ones are refused.
#pragma once

#include <cstdlib>
#include <cstring>

#include "cpu/reference/reference.h"
#include "device/immediate_backend.h"

namespace arbalest::fuzz {

class GuardedBackend final : public ImmediateBackend {
 public:
  LoweringAnswer lower(const LoweringRequest& request) override { return plain_.lower(request); }
  size_t bytes(const TensorSpec& spec) override { return plain_.bytes(spec); }
  std::unique_ptr<Kernel> make(const OperatorSpec& spec) override { return plain_.make(spec); }
  void reorder(const Tensor& from, const Tensor& to) override { plain_.reorder(from, to); }
  void optimise(const OptimiserPass& pass) override { plain_.optimise(pass); }
  void average(const AveragePass& pass) override { plain_.average(pass); }
  void blend(const BlendPass& pass) override { plain_.blend(pass); }
  void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) override { plain_.squares(type, parts, sums); }
  void use_threads(int threads) override { plain_.use_threads(threads); }

  void* take(size_t bytes) override {
    if (bytes > kMost) throw Error("OUT_OF_MEMORY", "memory: asked for " + std::to_string(bytes) + " bytes");
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, bytes) != 0) throw Error("OUT_OF_MEMORY", "memory: the machine refuses");
    std::memset(memory, 0, bytes);
    return memory;
  }
  void give_back(void* memory, size_t) noexcept override { std::free(memory); }

 private:
  // Plain loops under sanitizers compute over this much within seconds.
  static constexpr size_t kMost = size_t{1} << 18;

  Backend& plain_ = *reference_backend();
};

inline Backend& guarded_backend() {
  static GuardedBackend backend;
  return backend;
}

}  // namespace arbalest::fuzz
