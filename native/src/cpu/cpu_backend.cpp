#include "cpu/cpu_backend.h"

#include <cstring>

#include "cpu/kernel_library.h"
#include "cpu/memory.h"
#include "cpu/onednn/layer_lowering.h"
#include "cpu/onednn/layouts.h"
#include "cpu/onednn/matmul.h"
#include "cpu/onednn/primitive_kernel.h"
#include "cpu/processor.h"
#include "cpu/thread_team.h"
#include "device/immediate_backend.h"

namespace arbalest {
namespace {

void check_precision(Type precision) {
  if (precision == Type::f32 || (precision == Type::bf16 && computes_bf16())) return;
  if (precision == Type::bf16) {
    throw Error("UNSUPPORTED_PRECISION", "precision: received bf16; this processor has neither AVX512_BF16 nor AMX_BF16, use f32");
  }
  throw Error("UNSUPPORTED_PRECISION", "precision: received f64; the cpu backend computes in f32 and bf16, use the reference backend");
}

// As many elements as a value of a program has at most, so that no product of two sizes overflows.
void check_size(const LoweringRequest& request) {
  for (const auto* tensors : {&request.inputs, &request.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      double elements = 1;
      for (int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
      if (elements > 0x1p48) throw Error("INVALID_PROGRAM", request.kind + ": a tensor has more elements than any memory; make it smaller");
    }
  }
}

// oneDNN's exceptions must not leave this library: no other code knows their type.
template <class Work> auto guarded(const std::string& what, Work&& work) {
  try {
    return work();
  } catch (const dnnl::error& error) {
    const bool memory = error.status == dnnl_out_of_memory;
    throw Error(memory ? "OUT_OF_MEMORY" : "UNSUPPORTED_OPERATOR", what + ": oneDNN refused it (" + error.what() + ")");
  }
}

class CpuBackend final : public ImmediateBackend {
 public:
  LoweringAnswer lower(const LoweringRequest& request) override {
    check_precision(request.precision);
    check_size(request);
    return guarded(request.kind, [&] {
      LoweringAnswer answer;
      if (kernels_.lower(request, answer)) return answer;
      if (is_layer(request.kind)) return lower_layer(request, kernels_.block, engine_);
      if (request.kind == "matmul") return lower_matmul(request, engine_);
      if (request.kind == "reorder") return lower_reorder(request, engine_);
      throw Error("UNSUPPORTED_OPERATOR", "operator: received " + request.kind + "; the cpu backend has no such operator");
    });
  }

  size_t bytes(const TensorSpec& spec) override {
    return guarded("bytes", [&] { return bytes_of(spec); });
  }

  std::unique_ptr<Kernel> make(const OperatorSpec& spec) override {
    return guarded(spec.name, [&]() -> std::unique_ptr<Kernel> {
      if (auto kernel = kernels_.make(spec)) return kernel;
      if (is_layer(spec.kind)) return make_layer(spec, engine_);
      if (spec.kind == "matmul") return make_matmul(spec, engine_);
      if (spec.kind == "reorder") {
        if (spec.inputs.size() != 1 || spec.outputs.size() != 1 || !spec.inputs[0] || !spec.outputs[0])
          throw Error("INVALID_PROGRAM", "reorder " + spec.name + ": it takes one tensor and gives one");
        return make_reorder(spec.inputs[0], spec.outputs[0], spec.scratch, spec.scratch_bytes, engine_);
      }
      throw Error("UNSUPPORTED_OPERATOR", "operator: received " + spec.kind + "; the cpu backend has no such operator");
    });
  }

  void reorder(const Tensor& from, const Tensor& to) override {
    if (from.spec.type == to.spec.type && from.spec.layout == to.spec.layout) {
      std::memcpy(to.data, from.data, bytes(from.spec));
      return;
    }
    const OwnTeam team;
    guarded("reorder", [&] { make_reorder(from, to, nullptr, 0, engine_)->run({}); });
  }

  void optimise(const OptimiserPass& pass) override {
    check_precision(pass.type);
    const OwnTeam team;
    kernels_.optimise(pass);
  }

  void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) override {
    check_precision(sum.type);
    const OwnTeam team;
    kernels_.optimise_and_average(steps, sum);
  }

  void average(const AveragePass& pass) override {
    check_precision(pass.type);
    const OwnTeam team;
    kernels_.average(pass);
  }

  void blend(const BlendPass& pass) override {
    check_precision(pass.type);
    const OwnTeam team;
    kernels_.blend(pass);
  }

  void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) override {
    check_precision(type);
    const OwnTeam team;
    for (size_t i = 0; i < parts.size(); ++i) sums[i] = kernels_.squares(type, parts[i].vector, parts[i].begin, parts[i].end);
  }

  void* take(size_t bytes) override { return allocate_pages(bytes); }
  void give_back(void* memory, size_t bytes) noexcept override { release_pages(memory, bytes); }

  void use_threads(int threads) override {
    if (threads < 1) throw Error("INVALID_OPTION", "threads: received " + std::to_string(threads) + "; a replica has at least 1");
    use_team(threads);
  }

 private:
  const KernelLibrary& kernels_ = kernel_library();
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

Backend* cpu_backend() {
  // Never destroyed: when the process ends, other threads may still run its kernels.
  static CpuBackend* const backend = new CpuBackend;
  return backend;
}

}  // namespace arbalest
