// A kernel whose run() queues the work that was chosen when the kernel was made.
#pragma once

#include <utility>

#include "cuda/number.h"
#include "cuda/table.h"
#include "cuda/tensors.h"

namespace arbalest::cuda {

template <class Work> class QueuedKernel final : public Kernel {
 public:
  explicit QueuedKernel(Work work) : work_(std::move(work)) {}
  void run(const StepContext&) override { work_(); }

 private:
  Work work_;
};

template <class Work> MadeKernel queued(Work work) { return std::make_unique<QueuedKernel<Work>>(std::move(work)); }

template <class Element, int Width> struct PackOf {
  using T = Element;
  static constexpr int V = Width;
};

// Calls `make` with the element type and the widest pack that divides `run`, the number of neighbouring elements that may be taken
// together.
template <class Make> MadeKernel by_packs(Type type, int64_t run, Make&& make) {
  if (type == Type::f32) return run % kWidest<float> == 0 ? make(PackOf<float, kWidest<float>>{}) : make(PackOf<float, 1>{});
  if (type == Type::bf16) return run % kWidest<Bf16> == 0 ? make(PackOf<Bf16, kWidest<Bf16>>{}) : make(PackOf<Bf16, 1>{});
  throw Error("UNSUPPORTED_PRECISION", "element type: the cuda backend computes in f32 and bf16");
}

template <class Make> MadeKernel by_type(Type type, Make&& make) { return by_packs(type, 1, std::forward<Make>(make)); }

}  // namespace arbalest::cuda
