#include "cpu/reference/reference.h"

#include <sys/mman.h>

#include "cpu/reference/operator.h"
#include "cpu/reference/reorder.h"
#include "cpu/reference/vector_passes.h"
#include "device/immediate_backend.h"

namespace arbalest {
namespace reference {
namespace {

constexpr const char* kTypeNames[] = {"f32", "f64", "bf16", "i32", "u8"};

std::string name_of(Type type) { return kTypeNames[static_cast<size_t>(type)]; }

Type wide(Type precision) { return precision == Type::bf16 ? Type::f32 : precision; }

// The element type of a port in a program of this precision, for a tensor that is offered with type `offered`.
Type type_for(Role role, Type precision, Type offered) {
  switch (role) {
    case Role::activation: return precision;
    case Role::wide: return wide(precision);
    case Role::label: return Type::i32;
    case Role::position: return Type::u8;
    case Role::target: return offered == Type::i32 ? Type::i32 : precision;
    case Role::count: return offered == Type::i32 ? Type::i32 : wide(precision);
    case Role::any: return offered;
  }
  return offered;
}

const Operator& operator_of(const std::string& kind) {
  if (const Operator* op = OperatorTable<Operator>::find(kind)) return *op;
  throw Error("UNSUPPORTED_OPERATOR", "kind: received " + kind + "; use an operator kind that the reference backend runs");
}

// The operator with a port for each of its tensors.
Operator spelt_out(const Operator& op, size_t inputs, size_t outputs) {
  Operator whole = op;
  repeat_last(whole.inputs, inputs);
  repeat_last(whole.outputs, outputs);
  return whole;
}

// The shape of each port; absent optional ports have empty shapes.
std::vector<Shape> shapes_of(const Operator& op, const char* side, const std::vector<Port>& ports,
                             std::span<const TensorSpec* const> specs) {
  if (specs.size() > ports.size()) {
    throw Error("INVALID_PROGRAM",
                op.kind + ": " + side + ": received " + std::to_string(specs.size()) + "; give at most " + std::to_string(ports.size()));
  }
  std::vector<Shape> shapes(ports.size());
  for (size_t i = 0; i < specs.size(); ++i) shapes[i] = specs[i]->shape;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string port = op.kind + ": " + side + " " + ports[i].name;
    if (shapes[i].empty() && !ports[i].optional) throw Error("INVALID_PROGRAM", port + ": received nothing; the operator needs it");
    for (int64_t extent : shapes[i]) {
      if (extent < 1) throw Error("INVALID_PROGRAM", port + ": received shape " + shown(shapes[i]) + "; make every extent at least 1");
    }
  }
  return shapes;
}

void check_precision(const std::string& kind, Type precision) {
  if (precision == Type::f32 || precision == Type::f64 || precision == Type::bf16) return;
  throw Error("UNSUPPORTED_PRECISION", kind + ": precision: received " + name_of(precision) + "; use f32, f64 or bf16");
}

std::vector<const TensorSpec*> specs_of(const std::vector<TensorSpec>& specs) {
  std::vector<const TensorSpec*> pointers;
  for (const TensorSpec& spec : specs) pointers.push_back(&spec);
  return pointers;
}

std::vector<const TensorSpec*> specs_of(const std::vector<Tensor>& tensors) {
  std::vector<const TensorSpec*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor.spec);
  return pointers;
}

void answer(const std::vector<Port>& ports, Type precision, std::vector<TensorSpec>& specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].shape.empty()) continue;
    specs[i].type = type_for(ports[i].role, precision, specs[i].type);
    specs[i].layout = kPlain;
  }
}

void check_tensors(const Operator& op, const std::vector<Port>& ports, Type precision, const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& spec = tensors[i].spec;
    if (spec.shape.empty()) continue;
    const Type type = type_for(ports[i].role, precision, spec.type);
    if (spec.type != type || spec.layout != kPlain || !tensors[i].data) {
      throw Error("INVALID_PROGRAM", op.kind + ": " + ports[i].name + ": received " + name_of(spec.type) + " in layout " + spec.layout +
                                         (tensors[i].data ? "" : " at no address") + "; give it " + name_of(type) + " in plain");
    }
  }
}

class LoopKernel : public Kernel {
 public:
  LoopKernel(OperatorSpec spec, Run run) : spec_(std::move(spec)), run_(run) {}
  void run(const StepContext& step) override { run_(spec_, step); }

 private:
  const OperatorSpec spec_;
  const Run run_;
};

class ReferenceBackend final : public ImmediateBackend {
 public:
  LoweringAnswer lower(const LoweringRequest& request) override {
    check_precision(request.kind, request.precision);
    const Operator op = spelt_out(operator_of(request.kind), request.inputs.size(), request.outputs.size());
    check(op, request.attributes, specs_of(request.inputs), specs_of(request.outputs));
    LoweringAnswer answered;
    answered.inputs = request.inputs;
    answered.outputs = request.outputs;
    answer(op.inputs, request.precision, answered.inputs);
    answer(op.outputs, request.precision, answered.outputs);
    for (const auto& [output, input] : op.in_place) {
      const auto o = static_cast<size_t>(output), i = static_cast<size_t>(input);
      if (o >= answered.outputs.size() || i >= answered.inputs.size()) continue;
      if (!answered.outputs[o].shape.empty() && !answered.inputs[i].shape.empty()) answered.in_place.emplace_back(output, input);
    }
    answered.implementation = "reference";
    return answered;
  }

  size_t bytes(const TensorSpec& spec) override {
    if (!spec.layout.empty() && spec.layout != kPlain) {
      throw Error("INVALID_PROGRAM", "layout: received " + spec.layout + "; the reference backend has plain only");
    }
    size_t bytes = size_of(spec.type);
    for (int64_t extent : spec.shape) {
      if (extent < 1 || __builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes)) {
        throw Error("INVALID_PROGRAM", "shape: received " + shown(spec.shape) + "; make every extent at least 1 and all fit in memory");
      }
    }
    return bytes;
  }

  std::unique_ptr<Kernel> make(const OperatorSpec& spec) override {
    check_precision(spec.kind, spec.precision);
    const Operator op = spelt_out(operator_of(spec.kind), spec.inputs.size(), spec.outputs.size());
    check(op, spec.attributes, specs_of(spec.inputs), specs_of(spec.outputs));
    check_tensors(op, op.inputs, spec.precision, spec.inputs);
    check_tensors(op, op.outputs, spec.precision, spec.outputs);
    OperatorSpec whole = spec;
    whole.inputs.resize(op.inputs.size());
    whole.outputs.resize(op.outputs.size());
    return std::make_unique<LoopKernel>(std::move(whole), op.run_for(spec.precision));
  }

  void reorder(const Tensor& from, const Tensor& to) override { reference::reorder(from, to); }
  void optimise(const OptimiserPass& pass) override { reference::optimise(pass); }
  void average(const AveragePass& pass) override { reference::average(pass); }
  void blend(const BlendPass& pass) override { reference::blend(pass); }
  void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) override {
    for (size_t i = 0; i < parts.size(); ++i) sums[i] = reference::squares(type, parts[i].vector, parts[i].begin, parts[i].end);
  }

  // Pages of their own, which the kernel zeroes when they are first touched.
  void* take(size_t bytes) override {
    void* memory = mmap(nullptr, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) return memory;
    throw Error("OUT_OF_MEMORY",
                "memory: asked for " + std::to_string(bytes) + " bytes, which the machine refuses; use fewer learners or smaller batches");
  }
  void give_back(void* memory, size_t bytes) noexcept override {
    if (memory) munmap(memory, bytes ? bytes : 1);
  }

  void use_threads(int) override {}

 private:
  static void check(const Operator& op, const Attributes& attributes, const std::vector<const TensorSpec*>& inputs,
                    const std::vector<const TensorSpec*>& outputs) {
    op.check(Request(op, attributes, shapes_of(op, "input", op.inputs, inputs), shapes_of(op, "output", op.outputs, outputs)));
  }
};

}  // namespace
}  // namespace reference

Backend* reference_backend() {
  // Never destroyed: threads may still run kernels while the process ends.
  static auto* const backend = new reference::ReferenceBackend;
  return backend;
}

}  // namespace arbalest
