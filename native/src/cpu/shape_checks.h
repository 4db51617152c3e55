// Checks of one use of an operator, for the fast kernels and for the reference alike. Every check throws INVALID_PROGRAM with the port, the
// value received and the fix; an absent optional port passes.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/error.h"
#include "core/tensor.h"

namespace arbalest {

// The shape of a table that is added to every sample of x: a sample's, with an axis for the samples where the table that is given has one.
inline Shape table_of(const Shape& x, const Shape& given) {
  Shape table = x;
  table.front() = 1;
  if (given.size() < x.size()) table.erase(table.begin());
  return table;
}

// The base of a class `Use` with op(), the operator; attributes(); and input(i), has_input(i), output(i), has_output(i), its shapes.
template <class Use> class ShapeChecks {
 public:
  void input_is(size_t i, const Shape& expected) const {
    if (use().has_input(i) && use().input(i) != expected) refuse_input(i, "make it " + shown(expected));
  }
  void output_is(size_t i, const Shape& expected) const {
    if (use().has_output(i) && use().output(i) != expected) refuse_output(i, "make it " + shown(expected));
  }
  void input_rank(size_t i, size_t rank) const {
    if (use().has_input(i) && use().input(i).size() != rank) refuse_input(i, "give it " + std::to_string(rank) + " dimensions");
  }
  void input_rank_at_least(size_t i, size_t rank) const {
    if (use().has_input(i) && use().input(i).size() < rank) refuse_input(i, "give it at least " + std::to_string(rank) + " dimensions");
  }
  void output_rank(size_t i, size_t rank) const {
    if (use().has_output(i) && use().output(i).size() != rank) refuse_output(i, "give it " + std::to_string(rank) + " dimensions");
  }

  // An attribute that must be a whole number in [least, most].
  int64_t whole(const char* attribute, int64_t least, int64_t most) const {
    const double value = use().attributes().number(attribute);
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value))
      refuse(attribute, std::to_string(value), "give a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int64_t>(value);
  }
  // What a normalisation adds to a variance.
  void epsilon() const {
    const double value = use().attributes().number("epsilon");
    if (!(value > 0 && std::isfinite(value))) refuse("epsilon", std::to_string(value), "give a positive number, such as 1e-5");
  }
  // An attribute of two whole numbers, for rows and columns.
  std::array<int64_t, 2> whole_pair(const char* attribute, int64_t least) const {
    const std::vector<double>& values = use().attributes().list(attribute);
    if (values.size() != 2) refuse(attribute, std::to_string(values.size()) + " numbers", "give two, for rows and columns");
    for (double value : values)
      if (!(value >= static_cast<double>(least) && value < 0x1p31) || value != std::floor(value))
        refuse(attribute, std::to_string(value), "give whole numbers from " + std::to_string(least));
    return {static_cast<int64_t>(values[0]), static_cast<int64_t>(values[1])};
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& received, const std::string& fix) const {
    throw Error("INVALID_PROGRAM", std::string(use().op().kind) + ": " + what + ": received " + received + "; " + fix);
  }

 private:
  const Use& use() const { return static_cast<const Use&>(*this); }
  [[noreturn]] void refuse_input(size_t i, const std::string& fix) const {
    refuse(std::string("shape of input ") + use().op().inputs[i].name, shown(use().input(i)), fix);
  }
  [[noreturn]] void refuse_output(size_t i, const std::string& fix) const {
    refuse(std::string("shape of output ") + use().op().outputs[i].name, shown(use().output(i)), fix);
  }
};

// Images (N, C, H, W), and a number for each of their channels.
template <class Use> void check_scaled_channels(const Use& use) {
  use.input_rank(0, 4);
  use.input_is(1, {use.input(0)[0], use.input(0)[1]});
  use.output_is(0, use.input(0));
}
template <class Use> void check_scaled_channels_gradient(const Use& use) {
  check_scaled_channels(use);
  use.input_is(2, use.input(0));
  use.output_is(1, use.input(1));
}

// Images (N, C, H, W) whose channels lie in `groups` groups, each with a mean and an inverse deviation for each image.
template <class Use> int64_t groups_of(const Use& use) {
  use.epsilon();
  use.input_rank(0, 4);
  const int64_t channels = use.input(0)[1], groups = use.whole("groups", 1, channels);
  if (channels % groups != 0) use.refuse("groups", std::to_string(groups), "give a divisor of " + std::to_string(channels) + " channels");
  return groups;
}
template <class Use> void check_group_norm(const Use& use) {
  const int64_t groups = groups_of(use);
  const Shape &x = use.input(0), statistic = {x[0], groups};
  for (size_t i : {1, 2}) use.input_is(i, {x[1]});
  use.input_is(3, x);
  use.output_is(0, x);
  for (size_t i : {1, 2}) use.output_is(i, statistic);
}
template <class Use> void check_group_norm_gradient(const Use& use) {
  const int64_t groups = groups_of(use);
  const Shape &x = use.input(0), statistic = {x[0], groups};
  use.input_is(1, {x[1]});
  for (size_t i : {2, 3}) use.input_is(i, statistic);
  for (size_t i : {4, 5, 6}) use.input_is(i, x);
  if (use.attributes().number("relu", 0) != 0 && !use.has_input(4))
    use.refuse("input y", "none", "give it: with relu the gradient is masked by y > 0");
  for (size_t i : {0, 3}) use.output_is(i, x);
  for (size_t i : {1, 2}) use.output_is(i, {x[1]});
}

// Images (N, C, H, W) that become larger: `factor` times as many rows and columns.
template <class Use> Shape upsampled(const Use& use, const Shape& x) {
  const auto factor = use.whole_pair("factor", 1);
  return {x[0], x[1], x[2] * factor[0], x[3] * factor[1]};
}
template <class Use> void check_upsample(const Use& use) {
  use.input_rank(0, 4);
  use.output_is(0, upsampled(use, use.input(0)));
}
template <class Use> void check_upsample_gradient(const Use& use) {
  use.output_rank(0, 4);
  use.input_is(0, upsampled(use, use.output(0)));
}

// Each of the `count` parts of `whole`, which differ in their channels alone: is(part, its shape).
template <class Use, class Is> void check_parts(const Use& use, const Shape& whole, size_t count, const Is& is) {
  if (whole.size() < 2 || whole.size() > 4) use.refuse("shape", shown(whole), "give it 2 to 4 axes");
  const std::vector<double>& channels = use.attributes().list("channels");
  const size_t axis = channel_axis(whole);
  double sum = 0;
  for (double each : channels) sum += each;
  if (sum != static_cast<double>(whole[axis]) || channels.size() != count)
    use.refuse("channels", std::to_string(channels.size()) + " numbers", "give one for each part of " + shown(whole));
  for (size_t i = 0; i < count; ++i) {
    Shape part = whole;
    part[axis] = static_cast<int64_t>(channels[i]);
    is(i, part);
  }
}
template <class Use> void check_concat(const Use& use) {
  check_parts(use, use.output(0), use.inputs(), [&](size_t i, const Shape& part) { use.input_is(i, part); });
}
template <class Use> void check_concat_gradient(const Use& use) {
  check_parts(use, use.input(0), use.outputs(), [&](size_t i, const Shape& part) { use.output_is(i, part); });
}

// As many ports as there are tensors on this side of the operator, if the last port repeats.
template <class Port> void repeat_last(std::vector<Port>& ports, size_t tensors) {
  if (!ports.empty() && ports.back().repeats && ports.size() < tensors) ports.resize(tensors, Port(ports.back()));
}

}  // namespace arbalest
