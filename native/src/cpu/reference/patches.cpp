// Pixels of images as positions of sequences, a token before each sequence, one position of each; and their gradients.
#include "cpu/reference/operator.h"
#include "cpu/sequence_length.h"

namespace arbalest::reference {
namespace {

Shape as_sequence(const Shape& image) { return {image[0], image[2] * image[3], image[1]}; }

void check_image_positions(const Request& request) {
  request.input_rank(0, 4);
  request.output_is(0, as_sequence(request.input(0)));
}

void check_image_positions_backward(const Request& request) {
  request.output_rank(0, 4);
  request.input_is(0, as_sequence(request.output(0)));
}

void check_class_token(const Request& request) {
  request.input_rank(0, 3);
  const Shape& x = request.input(0);
  request.input_is(1, {1, 1, x[2]});
  request.output_is(0, {x[0], x[1] + 1, x[2]});
}

void check_class_token_backward(const Request& request) {
  request.input_rank(0, 3);
  const Shape& gy = request.input(0);
  if (gy[1] < 2) request.refuse("shape of gy", shown(gy), "give it at least 2 positions");
  request.output_is(0, {gy[0], gy[1] - 1, gy[2]});
  request.output_is(1, {1, 1, gy[2]});
}

void check_take_position(const Request& request) {
  request.input_rank(0, 3);
  request.output_is(0, checked_position(request, request.input(0)));
}

void check_take_position_backward(const Request& request) {
  request.output_rank(0, 3);
  request.input_is(0, checked_position(request, request.output(0)));
}

template <class T> void image_positions(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape());
  const T* px = op.inputs[0].as<T>();  // (N, C, H, W)
  T* py = op.outputs[0].as<T>();       // (N, H * W, C)
  for (int64_t n = 0; n < x.n; ++n)
    for (int64_t h = 0; h < x.h; ++h)
      for (int64_t w = 0; w < x.w; ++w)
        for (int64_t c = 0; c < x.c; ++c) *py++ = px[x.at(n, c, h, w)];
}

template <class T> void image_positions_backward(const OperatorSpec& op, const StepContext&) {
  const Image x(op.outputs[0].shape());
  const T* pgy = op.inputs[0].as<T>();  // (N, H * W, C)
  T* pgx = op.outputs[0].as<T>();       // (N, C, H, W)
  for (int64_t n = 0; n < x.n; ++n)
    for (int64_t h = 0; h < x.h; ++h)
      for (int64_t w = 0; w < x.w; ++w)
        for (int64_t c = 0; c < x.c; ++c) pgx[x.at(n, c, h, w)] = *pgy++;
}

template <class T> void class_token(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.outputs[0].shape();
  const int64_t N = shape[0], length = shape[1], F = shape[2];
  const T* x = op.inputs[0].as<T>();                  // (N, T, F)
  const Wide<T>* token = op.inputs[1].as<Wide<T>>();  // (1, 1, F)
  T* y = op.outputs[0].as<T>();                       // (N, 1 + T, F)
  for (int64_t n = 0; n < N; ++n)
    for (int64_t t = 0; t < length; ++t)
      for (int64_t f = 0; f < F; ++f) *y++ = t == 0 ? rounded<T>(token[f]) : *x++;
}

template <class T> void class_token_backward(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const int64_t N = shape[0], length = shape[1], F = shape[2];
  const T* gy = op.inputs[0].as<T>();             // (N, 1 + T, F)
  T* gx = op.outputs[0].as<T>();                  // (N, T, F) or null
  Wide<T>* gtoken = op.outputs[1].as<Wide<T>>();  // (1, 1, F) or null
  if (gx)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t t = 1; t < length; ++t)
        for (int64_t f = 0; f < F; ++f) *gx++ = gy[(n * length + t) * F + f];
  if (!gtoken) return;
  for (int64_t f = 0; f < F; ++f) {
    double sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += gy[n * length * F + f];
    gtoken[f] = rounded<Wide<T>>(sum);
  }
}

template <class T> void take_position(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const int64_t N = shape[0], length = shape[1], F = shape[2], position = static_cast<int64_t>(op.attributes.number("position"));
  const T* x = op.inputs[0].as<T>();  // (N, T, F)
  const auto* lengths = op.inputs.size() > 1 ? op.inputs[1].as<Wide<T>>() : nullptr;
  T* y = op.outputs[0].as<T>();  // (N, F)
  for (int64_t n = 0; n < N; ++n) {
    const int64_t at = position_of(position, lengths, n, length);
    for (int64_t f = 0; f < F; ++f) y[n * F + f] = at < 0 ? rounded<T>(0) : x[(n * length + at) * F + f];
  }
}

template <class T> void take_position_backward(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.outputs[0].shape();
  const int64_t N = shape[0], length = shape[1], F = shape[2], position = static_cast<int64_t>(op.attributes.number("position"));
  const T* gy = op.inputs[0].as<T>();  // (N, F)
  const auto* lengths = op.inputs.size() > 1 ? op.inputs[1].as<Wide<T>>() : nullptr;
  T* gx = op.outputs[0].as<T>();  // (N, T, F)
  for (int64_t n = 0; n < N; ++n) {
    const int64_t at = position_of(position, lengths, n, length);
    for (int64_t t = 0; t < length; ++t)
      for (int64_t f = 0; f < F; ++f) *gx++ = t == at ? gy[n * F + f] : rounded<T>(0);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"imagePositions",
       {{"x", activation}},
       {{"y", activation}},
       check_image_positions,
       {image_positions<float>, image_positions<double>, image_positions<Bf16>}},
      {"imagePositionsBackward",
       {{"gy", activation}},
       {{"gx", activation}},
       check_image_positions_backward,
       {image_positions_backward<float>, image_positions_backward<double>, image_positions_backward<Bf16>}},
      {"classToken",
       {{"x", activation}, {"token", wide}},
       {{"y", activation}},
       check_class_token,
       {class_token<float>, class_token<double>, class_token<Bf16>}},
      {"classTokenBackward",
       {{"gy", activation}},
       {{"gx", activation, true}, {"gtoken", wide, true}},
       check_class_token_backward,
       {class_token_backward<float>, class_token_backward<double>, class_token_backward<Bf16>}},
      {"takePosition",
       {{"x", activation}, {"lengths", wide, true}},
       {{"y", activation}},
       check_take_position,
       {take_position<float>, take_position<double>, take_position<Bf16>}},
      {"takePositionBackward",
       {{"gy", activation}, {"lengths", wide, true}},
       {{"gx", activation}},
       check_take_position_backward,
       {take_position_backward<float>, take_position_backward<double>, take_position_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
