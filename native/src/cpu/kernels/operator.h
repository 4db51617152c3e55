// An operator of this library: its ports, the check of its shapes, and the function that makes its kernel. Each family has a file, which
// adds its operators to the table.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/kernels/simd.h"
#include "cpu/shape_checks.h"
#include "device/backend.h"
#include "device/operator_table.h"

namespace arbalest::kernels {

// The element type and layout that a port has.
enum class Role {
  activation,  // f32 or bf16, in the operator's layout where it has 4 axes, else plain
  sample,      // as label where i32 is offered, else as activation
  canonical,   // f32 or bf16, plain
  parameter,   // f32, plain: parameters, their gradients, statistics, losses
  filters,     // f32, in the operator's layout of filters
  position,    // u8, in the operator's layout
  label,       // i32, plain
  target,      // as label where i32 is offered, else as canonical
  count,       // i32 where offered, else f32; plain
  offered,     // the type and the layout that are offered
};

struct Port {
  const char* name;
  Role role;
  bool optional = false;
  bool repeats = false;  // the last one: any number of tensors
};

class Shapes;

struct Operator {
  const char* kind;
  std::vector<Port> inputs, outputs;
  void (*check)(const Shapes& shapes);  // throws INVALID_PROGRAM
  std::unique_ptr<Kernel> (*make)(const OperatorSpec& spec);
  std::vector<std::pair<int, int>> in_place = {};  // (output, input): the output may overwrite the input
  // Bytes for a run, of tensors as they are answered; a kernel that plans them for one thread takes memory of its own for more.
  size_t (*scratch)(const Shapes& shapes, const LoweringAnswer& answer) = nullptr;
  // Whether this library runs it with these shapes in this layout of the activations; absent: always. What it leaves is oneDNN's.
  bool (*takes)(const LoweringRequest& request, const std::string& layout) = nullptr;
  // The layout of its activations, where it has but one; absent: that of the first which has one of ours.
  const char* layout = nullptr;
  // The layout of weights in the role `filters`, where a port has that role.
  const char* filters = nullptr;
  // What it does another way than its kind says, in the name of the implementation.
  const char* method = nullptr;
};

// What a kernel adds to a row of the table that it has in common with others.
struct OwnOperator {
  decltype(Operator::make) make;
  decltype(Operator::takes) takes;
  decltype(Operator::scratch) scratch = nullptr;
  const char* method = nullptr;

  Operator complete(Operator row) const {
    row.takes = takes;
    row.scratch = scratch;
    row.method = method;
    return row;
  }
};

// The shapes of one use of an operator.
class Shapes : public ShapeChecks<Shapes> {
 public:
  Shapes(const Operator& op, const LoweringRequest& request) : op_(op), request_(request) {}

  const Operator& op() const { return op_; }
  const Attributes& attributes() const { return request_.attributes; }
  int threads() const { return request_.threads; }
  const Shape& input(size_t i) const { return request_.inputs[i].shape; }
  const Shape& output(size_t i) const { return request_.outputs[i].shape; }
  size_t inputs() const { return request_.inputs.size(); }
  size_t outputs() const { return request_.outputs.size(); }
  bool has_input(size_t i) const { return i < request_.inputs.size() && !input(i).empty(); }
  bool has_output(size_t i) const { return i < request_.outputs.size() && !output(i).empty(); }

 private:
  const Operator& op_;
  const LoweringRequest& request_;
};

// The shape of a tensor of a request; empty if it has no such tensor.
inline Shape shape_at(const std::vector<TensorSpec>& tensors, size_t i) { return i < tensors.size() ? tensors[i].shape : Shape{}; }

// Whether the operator takes the request. Bad shapes it leaves, or refuses in `lower`.
bool takes(const Operator& op, const LoweringRequest& request);

// All activations get the operator's layout, or that of the first input that has one of ours, so that no reorders are needed.
LoweringAnswer lower(const Operator& op, const LoweringRequest& request);

// Null if the port is absent.
template <class T> const T* input(const OperatorSpec& spec, size_t i) { return i < spec.inputs.size() ? spec.inputs[i].as<T>() : nullptr; }

template <class T> T* output(const OperatorSpec& spec, size_t i) { return i < spec.outputs.size() ? spec.outputs[i].as<T>() : nullptr; }

// The kernel for the storage type of the program's activations. Each file has its own: GCC 12 gives one symbol to those of two files whose
// templates in unnamed namespaces have the same name.
template <template <class> class Typed> static std::unique_ptr<Kernel> make_typed(const OperatorSpec& spec) {
  if (spec.precision == Type::bf16) return std::make_unique<Typed<bf16>>(spec);
  return std::make_unique<Typed<float>>(spec);
}

// body.operator()<T>() with T as activations of this type are stored.
template <class Body> auto for_type(Type type, const Body& body) {
  return type == Type::bf16 ? body.template operator()<bf16>() : body.template operator()<float>();
}

// The kernel of an operator that has one storage type.
template <class Made> std::unique_ptr<Kernel> make_only(const OperatorSpec& spec) { return std::make_unique<Made>(spec); }

// Items that a run writes before it reads them: in the planned scratch, or in memory of its own where that is too small. The first one
// begins a line of the caches.
template <class T> class PlannedItems {
 public:
  PlannedItems(const OperatorSpec& spec, size_t items) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (spec.scratch_bytes < items * sizeof(T)) own_.reset(::operator new(items * sizeof(T), kLine));
    items_ = static_cast<T*>(own_ ? own_.get() : spec.scratch);
  }
  PlannedItems(const PlannedItems&) = delete;
  PlannedItems& operator=(const PlannedItems&) = delete;

  T& operator[](size_t i) const { return items_[i]; }

 private:
  static constexpr std::align_val_t kLine{64};

  struct Delete {
    void operator()(void* memory) const { ::operator delete(memory, kLine); }
  };

  std::unique_ptr<void, Delete> own_;
  T* items_;
};

using Registered = OperatorTable<Operator>::Registered;

}  // namespace arbalest::kernels
