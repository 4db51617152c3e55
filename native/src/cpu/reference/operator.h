// An operator of the reference backend: its ports, the check of its shapes, and one plain loop for each storage type.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/reference/bf16.h"
#include "cpu/shape_checks.h"
#include "device/backend.h"
#include "device/operator_table.h"

namespace arbalest::reference {

// Parameters, their gradients, statistics and losses of a program whose activations are stored as T.
template <class T> struct WideOf { using type = float; };
template <> struct WideOf<double> { using type = double; };
template <class T> using Wide = typename WideOf<T>::type;

// Every sum is made in double and rounded once.
template <class T> T rounded(double value) { return T(static_cast<Wide<T>>(value)); }

// The element type that a port has in a program of some precision.
enum class Role {
  activation,  // the precision itself
  wide,        // f32 under bf16, else the precision
  label,       // i32
  position,    // u8
  target,      // i32 where labels are offered, else as activation
  count,       // i32 where offered, else as wide
  any,         // as offered
};

struct Port {
  const char* name;
  Role role;
  bool optional = false;
  bool repeats = false;  // the last one: any number of tensors
};

struct Operator;

// The shapes of one use of an operator.
class Request : public ShapeChecks<Request> {
 public:
  Request(const Operator& op, const Attributes& attributes, std::vector<Shape> inputs, std::vector<Shape> outputs)
      : op_(op), attributes_(attributes), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  const Operator& op() const { return op_; }
  const Attributes& attributes() const { return attributes_; }
  const Shape& input(size_t i) const { return inputs_[i]; }
  const Shape& output(size_t i) const { return outputs_[i]; }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  bool has_input(size_t i) const { return !inputs_[i].empty(); }
  bool has_output(size_t i) const { return !outputs_[i].empty(); }

 private:
  const Operator& op_;
  const Attributes& attributes_;
  std::vector<Shape> inputs_, outputs_;
};

using Run = void (*)(const OperatorSpec& op, const StepContext& step);

struct Operator {
  std::string kind;
  std::vector<Port> inputs, outputs;
  void (*check)(const Request& request);  // throws INVALID_PROGRAM
  std::array<Run, 3> run;                 // activations in f32, f64, bf16
  std::vector<std::pair<int, int>> in_place = {};

  Run run_for(Type precision) const { return run[precision == Type::f32 ? 0 : precision == Type::f64 ? 1 : 2]; }
};

// (N, C, H, W), and the place of an element.
struct Image {
  explicit Image(const Shape& shape) : n(shape[0]), c(shape[1]), h(shape[2]), w(shape[3]) {}
  int64_t at(int64_t in, int64_t ic, int64_t ih, int64_t iw) const { return ((in * c + ic) * h + ih) * w + iw; }
  int64_t n, c, h, w;
};

using Registered = OperatorTable<Operator>::Registered;

}  // namespace arbalest::reference
