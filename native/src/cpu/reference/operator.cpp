#include "cpu/reference/operator.h"

#include <cmath>
#include <map>

namespace arbalest::reference {
namespace {

// Made when the first file registers: the order in which files are initialised is not defined.
std::map<std::string, Operator>& table() {
  static std::map<std::string, Operator> operators;
  return operators;
}

}  // namespace

std::string shown(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

void Request::refuse(const std::string& what, const std::string& received, const std::string& mend) const {
  throw Error("INVALID_PROGRAM", op_.kind + ": " + what + ": received " + received + "; " + mend);
}

void Request::input_is(size_t i, const Shape& expected) const {
  if (has_input(i) && input(i) != expected) {
    refuse(std::string("shape of input ") + op_.inputs[i].name, shown(input(i)), "make it " + shown(expected));
  }
}

void Request::output_is(size_t i, const Shape& expected) const {
  if (has_output(i) && output(i) != expected) {
    refuse(std::string("shape of output ") + op_.outputs[i].name, shown(output(i)), "make it " + shown(expected));
  }
}

void Request::input_rank(size_t i, size_t rank) const {
  if (has_input(i) && input(i).size() != rank) {
    refuse(std::string("shape of input ") + op_.inputs[i].name, shown(input(i)), "give it " + std::to_string(rank) + " dimensions");
  }
}

void Request::input_rank_at_least(size_t i, size_t rank) const {
  if (has_input(i) && input(i).size() < rank) {
    refuse(std::string("shape of input ") + op_.inputs[i].name, shown(input(i)),
           "give it at least " + std::to_string(rank) + " dimensions");
  }
}

void Request::output_rank(size_t i, size_t rank) const {
  if (has_output(i) && output(i).size() != rank) {
    refuse(std::string("shape of output ") + op_.outputs[i].name, shown(output(i)), "give it " + std::to_string(rank) + " dimensions");
  }
}

int64_t Request::whole(const char* attribute, int64_t least, int64_t most) const {
  const double value = attributes.number(attribute);
  if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value)) {
    refuse(attribute, std::to_string(value), "give a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int64_t>(value);
}

std::array<int64_t, 2> Request::whole_pair(const char* attribute, int64_t least) const {
  const std::vector<double>& values = attributes.list(attribute);
  if (values.size() != 2) refuse(attribute, std::to_string(values.size()) + " numbers", "give two, for rows and columns");
  for (double value : values) {
    if (!(value >= static_cast<double>(least) && value < 0x1p31) || value != std::floor(value)) {
      refuse(attribute, std::to_string(value), "give whole numbers from " + std::to_string(least));
    }
  }
  return {static_cast<int64_t>(values[0]), static_cast<int64_t>(values[1])};
}

Registered::Registered(std::vector<Operator> operators) {
  for (Operator& op : operators) {
    const std::string kind = op.kind;
    table().emplace(kind, std::move(op));
  }
}

const Operator* find_operator(const std::string& kind) {
  const auto found = table().find(kind);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace arbalest::reference
