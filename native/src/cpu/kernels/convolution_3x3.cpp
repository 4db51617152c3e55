#include "cpu/kernels/convolution_3x3.h"

namespace arbalest::kernels::convolution_3x3 {
namespace {

void check_forward(const Shapes& shapes) {
  const Shape y = result_of(shapes.input(0), shapes.input(1));
  if (shapes.has_input(2)) shapes.input_is(2, {y[1]});
  shapes.output_is(0, y);
}

void check_data(const Shapes& shapes) { shapes.input_is(0, result_of(shapes.output(0), shapes.input(1))); }

void check_weights(const Shapes& shapes) {
  const Shape y = result_of(shapes.input(0), shapes.output(0));
  shapes.input_is(1, y);
  if (shapes.has_output(1)) shapes.output_is(1, {y[1]});
}

}  // namespace

Operator forward_operator(const Own& own) {
  using enum Role;
  return own.complete({.kind = "conv2d",
                       .inputs = {{"x", activation}, {"w", filters}, {"b", parameter, true}},
                       .outputs = {{"y", activation}},
                       .check = check_forward,
                       .make = own.make,
                       .layout = own.layout,
                       .filters = kRowsOfFilters});
}

Operator backward_data_operator(const Own& own) {
  using enum Role;
  return own.complete({.kind = "conv2dBackwardData",
                       .inputs = {{"gy", activation}, {"w", filters}},
                       .outputs = {{"gx", activation}},
                       .check = check_data,
                       .make = own.make,
                       .layout = own.layout,
                       .filters = kRowsOfFilters});
}

Operator backward_weights_operator(const Own& own) {
  using enum Role;
  return own.complete({.kind = "conv2dBackwardWeights",
                       .inputs = {{"x", activation}, {"gy", activation}},
                       .outputs = {{"gw", filters}, {"gb", parameter, true}},
                       .check = check_weights,
                       .make = own.make,
                       .layout = own.layout,
                       .filters = kRowsOfFilters});
}

bool has_shapes(const LoweringRequest& request, const Shape& x, const Shape& w) {
  const Attributes& attributes = request.attributes;
  if (kLanes < 8 || attributes.number("groups", 1) != 1) return false;
  if (attributes.list("stride") != std::vector<double>{1, 1} || attributes.list("padding") != std::vector<double>{1, 1}) return false;
  if (x.size() != 4 || w.size() != 4 || w[1] != x[1] || w[2] != kSide || w[3] != kSide) return false;
  return x[1] % kLanes == 0 && w[0] % kLanes == 0 && x[2] >= 2 && x[3] >= 2;
}

bool stores_past_caches(const float* gw, int64_t blocks, bool written_once) {
  // More weights than these are in no near cache when they are read.
  constexpr int64_t kFarWeights = int64_t{1} << 20;
  return written_once && blocks * kWeightsBlock >= kFarWeights && reinterpret_cast<uintptr_t>(gw) % sizeof(Floats) == 0;
}

bool has_bfloat16_weights(const LoweringRequest& request) {
  return request.precision == Type::bf16 && has_shapes(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0));
}

}  // namespace arbalest::kernels::convolution_3x3
