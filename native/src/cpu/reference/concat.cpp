// Channels of several tensors side by side, and the gradient, which separates them again.
#include <algorithm>

#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

// body(part, image, elements before it in the part, elements before it in the whole, how many) for each part's share of each image.
template <class Body> void for_shares(const OperatorSpec& op, const Shape& shape, const Body& body) {
  const Shape whole = channels_second(shape);
  const std::vector<double>& channels = op.attributes.list("channels");
  const int64_t images = whole[0], elements = elements_of(whole) / images, pixels = elements / whole[1];
  int64_t before = 0;
  for (size_t part = 0; part < channels.size(); ++part) {
    const int64_t count = static_cast<int64_t>(channels[part]) * pixels;
    for (int64_t n = 0; n < images; ++n) body(part, n * count, n * elements + before, count);
    before += count;
  }
}

template <class T> void concat(const OperatorSpec& op, const StepContext&) {
  T* y = op.outputs[0].as<T>();
  for_shares(op, op.outputs[0].shape(),
             [&](size_t part, int64_t from, int64_t to, int64_t count) { std::copy_n(op.inputs[part].as<T>() + from, count, y + to); });
}

template <class T> void concat_backward(const OperatorSpec& op, const StepContext&) {
  const T* gy = op.inputs[0].as<T>();
  for_shares(op, op.inputs[0].shape(), [&](size_t part, int64_t to, int64_t from, int64_t count) {
    if (op.outputs[part]) std::copy_n(gy + from, count, op.outputs[part].as<T>() + to);
  });
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"concat",
       {{"x", activation, false, true}},
       {{"y", activation}},
       check_concat<Request>,
       {concat<float>, concat<double>, concat<Bf16>}},
      {"concatBackward",
       {{"gy", activation}},
       {{"gx", activation, true, true}},
       check_concat_gradient<Request>,
       {concat_backward<float>, concat_backward<double>, concat_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
