// Local response normalisation across channels, as PyTorch defines it: y = x / (k + alpha / size * sum of x^2 over a window of
// channels)^beta.
#include <cmath>

#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

void check(const Request& request) {
  const auto number = [&](const char* name, double least) {
    const double value = request.attributes().number(name);
    if (!(value >= least && value < 0x1p31))
      request.refuse(name, std::to_string(value), "give a number of at least " + std::to_string(least));
  };
  request.whole("size", 1, 1 << 20);
  number("alpha", 0);
  number("beta", 0);
  number("k", 1e-6);
  request.input_rank(0, 4);
  request.output_is(0, request.input(0));
}

void check_backward(const Request& request) {
  check(request);
  request.input_is(1, request.input(0));
}

struct Form {
  explicit Form(const Attributes& attributes)
      : size(static_cast<int64_t>(attributes.number("size"))),
        alpha(attributes.number("alpha")),
        beta(attributes.number("beta")),
        k(attributes.number("k")) {}

  // The window of channel c is [first(c), last(c)], cut off at both ends.
  int64_t first(int64_t c) const { return std::max<int64_t>(0, c - size / 2); }
  int64_t last(int64_t c, int64_t channels) const { return std::min(channels - 1, c + (size - 1) / 2); }

  template <class T> double scale(const T* x, const Image& image, int64_t n, int64_t c, int64_t h, int64_t w) const {
    double sum = 0;
    for (int64_t d = first(c); d <= last(c, image.c); ++d) sum += double{x[image.at(n, d, h, w)]} * double{x[image.at(n, d, h, w)]};
    return k + alpha / static_cast<double>(size) * sum;
  }

  int64_t size;
  double alpha, beta, k;
};

template <class Body> void for_elements(const Image& image, const Body& body) {
  for (int64_t n = 0; n < image.n; ++n)
    for (int64_t c = 0; c < image.c; ++c)
      for (int64_t h = 0; h < image.h; ++h)
        for (int64_t w = 0; w < image.w; ++w) body(n, c, h, w);
}

template <class T> void local_response_norm(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();  // (N, C, H, W)
  T* y = op.outputs[0].as<T>();       // (N, C, H, W)
  const Image image(op.inputs[0].shape());
  const Form form(op.attributes);
  for_elements(image, [&](int64_t n, int64_t c, int64_t h, int64_t w) {
    const int64_t i = image.at(n, c, h, w);
    y[i] = rounded<T>(x[i] * std::pow(form.scale(x, image, n, c, h, w), -form.beta));
  });
}

template <class T> void local_response_norm_backward(const OperatorSpec& op, const StepContext&) {
  const T *x = op.inputs[0].as<T>(), *gy = op.inputs[1].as<T>();  // (N, C, H, W)
  T* gx = op.outputs[0].as<T>();                                  // (N, C, H, W)
  const Image image(op.inputs[0].shape());
  const Form form(op.attributes);
  for_elements(image, [&](int64_t n, int64_t c, int64_t h, int64_t w) {
    const int64_t i = image.at(n, c, h, w);
    double others = 0;
    for (int64_t d = 0; d < image.c; ++d) {
      if (form.first(d) > c || form.last(d, image.c) < c) continue;
      const int64_t j = image.at(n, d, h, w);
      others += double{gy[j]} * double{x[j]} * std::pow(form.scale(x, image, n, d, h, w), -form.beta - 1);
    }
    const double own = gy[i] * std::pow(form.scale(x, image, n, c, h, w), -form.beta);
    gx[i] = rounded<T>(own - 2 * form.alpha * form.beta / static_cast<double>(form.size) * x[i] * others);
  });
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"localResponseNorm",
       {{"x", activation}},
       {{"y", activation}},
       check,
       {local_response_norm<float>, local_response_norm<double>, local_response_norm<Bf16>}},
      {"localResponseNormBackward",
       {{"x", activation}, {"gy", activation}},
       {{"gx", activation}},
       check_backward,
       {local_response_norm_backward<float>, local_response_norm_backward<double>, local_response_norm_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
