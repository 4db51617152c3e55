// The mean over windows; padding counts as zeros.
#include "cpu/kernels/strips.h"
#include "cpu/kernels/window.h"

namespace arbalest::kernels {
namespace {

template <class T> class AveragePool final : public Kernel {
 public:
  explicit AveragePool(const OperatorSpec& spec)
      : x_view_(activation_of(spec.inputs[0].spec)),
        y_view_(activation_of(spec.outputs[0].spec)),
        window_(spec.attributes, spec.inputs[0].shape(), spec.outputs[0].shape()),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each_strip(x_view_, x_view_.elements(), [&]<class Lanes>(const Strip& strip) { pool<Lanes>(strip); });
  }

 private:
  template <class Lanes> void pool(const Strip& strip) const {
    const Axis &rows = window_.rows, &columns = window_.columns;
    const int64_t stride = x_view_.lanes, row_stride = x_view_.width * stride;
    const float share = 1.0f / static_cast<float>(window_.area());
    T* to = y_ + strip.begin(y_view_);
    for (int64_t oh = 0; oh < rows.outputs; ++oh) {
      const Range kh = rows.taps[oh];
      for (int64_t ow = 0; ow < columns.outputs; ++ow, to += stride) {
        const Range kw = columns.taps[ow];
        const T* from = x_ + strip.begin(x_view_) + rows.first(oh) * row_stride + columns.first(ow) * stride;
        typename Lanes::Value sum{};
        for (int64_t i = kh.begin; i < kh.end; ++i) {
          for (int64_t j = kw.begin; j < kw.end; ++j) sum += Lanes::load(from + i * row_stride + j * stride, strip.width);
        }
        Lanes::store(to, sum * share, strip.width);
      }
    }
  }

  const Activation x_view_, y_view_;
  const Window window_;
  const T* x_;
  T* y_;
};

template <class T> class AveragePoolBackward final : public Kernel {
 public:
  explicit AveragePoolBackward(const OperatorSpec& spec)
      : x_view_(activation_of(spec.outputs[0].spec)),
        y_view_(activation_of(spec.inputs[0].spec)),
        window_(spec.attributes, spec.outputs[0].shape(), spec.inputs[0].shape()),
        gy_(input<T>(spec, 0)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each_strip(x_view_, x_view_.elements(), [&]<class Lanes>(const Strip& strip) { gather<Lanes>(strip); });
  }

 private:
  template <class Lanes> void gather(const Strip& strip) const {
    const Axis &rows = window_.rows, &columns = window_.columns;
    const int64_t stride = x_view_.lanes;
    const float share = 1.0f / static_cast<float>(window_.area());
    const T* from = gy_ + strip.begin(y_view_);
    T* to = gx_ + strip.begin(x_view_);
    for (int64_t h = 0; h < x_view_.height; ++h) {
      const Range oh = rows.covering[h];
      for (int64_t w = 0; w < x_view_.width; ++w, to += stride) {
        const Range ow = columns.covering[w];
        typename Lanes::Value sum{};
        for (int64_t i = oh.begin; i < oh.end; ++i) {
          for (int64_t j = ow.begin; j < ow.end; ++j) sum += Lanes::load(from + (i * columns.outputs + j) * stride, strip.width);
        }
        Lanes::store(to, sum * share, strip.width);
      }
    }
  }

  const Activation x_view_, y_view_;
  const Window window_;
  const T* gy_;
  T* gx_;
};

void check_forward(const Shapes& shapes) {
  shapes.input_rank(0, 4);
  shapes.output_is(0, pooled(shapes, shapes.input(0)));
}

void check_backward(const Shapes& shapes) {
  shapes.output_rank(0, 4);
  shapes.input_is(0, pooled(shapes, shapes.output(0)));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"avgPool2d", {{"x", activation}}, {{"y", activation}}, check_forward, make_typed<AveragePool>},
      {"avgPool2dBackward", {{"gy", activation}}, {{"gx", activation}}, check_backward, make_typed<AveragePoolBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
