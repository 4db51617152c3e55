// What the reference backend knows of an operator kind: its ports, the check of its shapes, and one plain loop for each storage type.
#pragma once

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/reference/bf16.h"
#include "device/backend.h"

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

// The shapes of one use of an operator, with checks that name the port, the shape received and the shape expected.
class Request {
 public:
  Request(const Operator& op, const Attributes& attributes, std::vector<Shape> inputs, std::vector<Shape> outputs)
      : attributes(attributes), op_(op), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  const Attributes& attributes;

  const Shape& input(size_t i) const { return inputs_[i]; }
  const Shape& output(size_t i) const { return outputs_[i]; }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  bool has_input(size_t i) const { return !inputs_[i].empty(); }
  bool has_output(size_t i) const { return !outputs_[i].empty(); }

  // Each throws INVALID_PROGRAM; a port that is absent passes.
  void input_is(size_t i, const Shape& expected) const;
  void output_is(size_t i, const Shape& expected) const;
  void input_rank(size_t i, size_t rank) const;
  void input_rank_at_least(size_t i, size_t rank) const;
  void output_rank(size_t i, size_t rank) const;
  // An attribute that must be a whole number in [least, most].
  int64_t whole(const char* attribute, int64_t least, int64_t most) const;
  std::array<int64_t, 2> whole_pair(const char* attribute, int64_t least) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& received, const std::string& mend) const;

 private:
  const Operator& op_;
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

std::string shown(const Shape& shape);

// (N, C, H, W) and where an element of it lies.
struct Image {
  explicit Image(const Shape& shape) : n(shape[0]), c(shape[1]), h(shape[2]), w(shape[3]) {}
  int64_t at(int64_t in, int64_t ic, int64_t ih, int64_t iw) const { return ((in * c + ic) * h + ih) * w + iw; }
  int64_t n, c, h, w;
};

// An object of it at namespace scope adds operators to the table: a new operator is one file.
struct Registered {
  explicit Registered(std::vector<Operator> operators);
};

// Null where there is no such operator.
const Operator* find_operator(const std::string& kind);

}  // namespace arbalest::reference
