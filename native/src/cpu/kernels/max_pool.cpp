// The maximum over windows, with its position kh * KW + kw as a byte: the first in row-major order wins, a NaN is greater than all, padding
// never wins (PyTorch's rule). The gradient goes where the position says.
#include "cpu/kernels/max_pool.h"

#include "cpu/kernels/strips.h"
#include "cpu/kernels/window.h"

namespace arbalest::kernels {
namespace {

// Of windows whose side the compiler does not know.
constexpr int kAny = 0;

template <class T> class MaxPool final : public Kernel {
 public:
  explicit MaxPool(const OperatorSpec& spec)
      : x_view_(activation_of(spec.inputs[0].spec)),
        y_view_(activation_of(spec.outputs[0].spec)),
        window_(spec.attributes, spec.inputs[0].shape(), spec.outputs[0].shape()),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)),
        position_(output<uint8_t>(spec, 1)) {}

  void run(const StepContext&) override {
    for_each_strip(x_view_, x_view_.elements(),
                   [&]<class Lanes>(const Strip& strip) { position_ ? pool<Lanes, true>(strip) : pool<Lanes, false>(strip); });
  }

 private:
  template <class Lanes, bool Positioned> void pool(const Strip& strip) const {
    const bool square = window_.rows.kernel == window_.columns.kernel;
    if (square && window_.rows.kernel == 2)
      pool_rows<Lanes, Positioned, 2>(strip);
    else if (square && window_.rows.kernel == 3)
      pool_rows<Lanes, Positioned, 3>(strip);
    else
      pool_rows<Lanes, Positioned, kAny>(strip);
  }

  // Kernel: the side of all windows that lie inside of the image, or kAny.
  template <class Lanes, bool Positioned, int Kernel> void pool_rows(const Strip& strip) const {
    const Axis &rows = window_.rows, &columns = window_.columns;
    const int64_t stride = x_view_.lanes, row_stride = x_view_.width * stride;
    int64_t to = strip.begin(y_view_);
    for (int64_t oh = 0; oh < rows.outputs; ++oh) {
      const Range kh = rows.taps[oh];
      const T* const row = x_ + strip.begin(x_view_) + rows.first(oh) * row_stride;
      const bool whole = oh >= rows.whole.begin && oh < rows.whole.end;
      for (int64_t ow = 0; ow < columns.outputs; ++ow, to += stride) {
        const T* const from = row + columns.first(ow) * stride;
        if (whole && ow >= columns.whole.begin && ow < columns.whole.end)
          pool_window<Lanes, Positioned, Kernel>(from, kh, columns.taps[ow], row_stride, strip, to);
        else
          pool_window<Lanes, Positioned, kAny>(from, kh, columns.taps[ow], row_stride, strip, to);
      }
    }
  }

  template <class Lanes, bool Positioned, int Kernel>
  [[gnu::always_inline]] void pool_window(const T* from, Range rows, Range columns, int64_t row_stride, const Strip& strip,
                                          int64_t to) const {
    using Value = typename Lanes::Value;
    using Index = typename Lanes::Index;
    if constexpr (Kernel != kAny) rows = columns = {0, Kernel};
    const int64_t stride = x_view_.lanes, kernel = Kernel == kAny ? window_.columns.kernel : Kernel;
    const int width = strip.width;
    Value most = Lanes::load(from + rows.begin * row_stride + columns.begin * stride, width), sum{};
    Index where = Index{} + static_cast<int32_t>(rows.begin * kernel + columns.begin);
#pragma GCC unroll 3
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
#pragma GCC unroll 3
      for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
        const Value value = Lanes::load(from + kh * row_stride + kw * stride, width);
        if constexpr (Positioned) where = value > most ? Index{} + static_cast<int32_t>(kh * kernel + kw) : where;
        most = value > most ? value : most;
        sum += value;
      }
    }
    // A sum of numbers is one, but where infinities cancel out.
    if (any(sum != sum)) return pool_not_a_number<Lanes, Positioned>(from, rows, columns, row_stride, strip, to);
    Lanes::store(y_ + to, most, width);
    if constexpr (Positioned) Lanes::store(position_ + to, where & Lanes::first(strip.channels), width);
  }

  template <class Lanes, bool Positioned>
  [[gnu::noinline, gnu::noclone]] void pool_not_a_number(const T* from, Range rows, Range columns, int64_t row_stride, const Strip& strip,
                                                         int64_t to) const {
    using Value = typename Lanes::Value;
    using Index = typename Lanes::Index;
    const int64_t stride = x_view_.lanes, kernel = window_.columns.kernel;
    const int width = strip.width;
    Value most = Lanes::load(from + rows.begin * row_stride + columns.begin * stride, width);
    Index where = Index{} + static_cast<int32_t>(rows.begin * kernel + columns.begin);
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
        const Value value = Lanes::load(from + kh * row_stride + kw * stride, width);
        const auto greater = (value > most) | ((value != value) & (most == most));
        most = greater ? value : most;
        if constexpr (Positioned) where = greater ? Index{} + static_cast<int32_t>(kh * kernel + kw) : where;
      }
    }
    Lanes::store(y_ + to, most, width);
    if constexpr (Positioned) Lanes::store(position_ + to, where & Lanes::first(strip.channels), width);
  }

  const Activation x_view_, y_view_;
  const Window window_;
  const T* x_;
  T* y_;
  uint8_t* position_;  // null if the output is absent
};

template <class T> class MaxPoolBackward final : public Kernel {
 public:
  explicit MaxPoolBackward(const OperatorSpec& spec)
      : x_view_(activation_of(spec.outputs[0].spec)),
        y_view_(activation_of(spec.inputs[0].spec)),
        window_(spec.attributes, spec.outputs[0].shape(), spec.inputs[0].shape()),
        position_(input<uint8_t>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const Axis &rows = window_.rows, &columns = window_.columns;
    const bool tiles = rows.kernel == rows.stride && columns.kernel == columns.stride && rows.padding == 0 && columns.padding == 0;
    const bool two = tiles && rows.kernel == 2 && columns.kernel == 2;
    for_each_strip(x_view_, x_view_.elements(), [&]<class Lanes>(const Strip& strip) {
      if (two)
        spread_tiles<Lanes>(strip);
      else
        gather<Lanes>(strip);
    });
  }

 private:
  // Every input pixel lies in at most one window of 2x2.
  template <class Lanes> void spread_tiles(const Strip& strip) const {
    using Value = typename Lanes::Value;
    const int64_t stride = x_view_.lanes, row_stride = x_view_.width * stride, outputs = y_view_.width;
    const int width = strip.width;
    const uint8_t* position = position_ + strip.begin(y_view_);
    const T* gy = gy_ + strip.begin(y_view_);
    T* const image = gx_ + strip.begin(x_view_);
    for (int64_t oh = 0; oh < y_view_.height; ++oh) {
      T* to = image + 2 * oh * row_stride;
      for (int64_t ow = 0; ow < outputs; ++ow, position += stride, gy += stride, to += 2 * stride) {
        const auto where = Lanes::load(position, width);
        const Value g = Lanes::load(gy, width);
        Lanes::store(to, where == 0 ? g : Value{}, width);
        Lanes::store(to + stride, where == 1 ? g : Value{}, width);
        Lanes::store(to + row_stride, where == 2 ? g : Value{}, width);
        Lanes::store(to + row_stride + stride, where == 3 ? g : Value{}, width);
      }
      if (x_view_.width % 2 == 0) continue;
      Lanes::store(to, Value{}, width);
      Lanes::store(to + row_stride, Value{}, width);
    }
    if (x_view_.height % 2 == 0) return;
    T* const last = image + (x_view_.height - 1) * row_stride;
    for (int64_t w = 0; w < x_view_.width; ++w) Lanes::store(last + w * stride, Value{}, width);
  }

  // Each input pixel sums the gradients of the windows whose maximum it was, in their order.
  template <class Lanes> void gather(const Strip& strip) const {
    using Value = typename Lanes::Value;
    const Axis &rows = window_.rows, &columns = window_.columns;
    const int64_t stride = x_view_.lanes;
    const int width = strip.width;
    const uint8_t* position = position_ + strip.begin(y_view_);
    const T* gy = gy_ + strip.begin(y_view_);
    T* to = gx_ + strip.begin(x_view_);
    for (int64_t h = 0; h < x_view_.height; ++h) {
      const Range oh = rows.covering[h];
      for (int64_t w = 0; w < x_view_.width; ++w, to += stride) {
        const Range ow = columns.covering[w];
        Value sum{};
        for (int64_t i = oh.begin; i < oh.end; ++i) {
          for (int64_t j = ow.begin; j < ow.end; ++j) {
            const int64_t at = (i * columns.outputs + j) * stride;
            const auto tap = static_cast<int32_t>((h - rows.first(i)) * columns.kernel + w - columns.first(j));
            sum += Lanes::load(position + at, width) == tap ? Lanes::load(gy + at, width) : Value{};
          }
        }
        Lanes::store(to, sum, width);
      }
    }
  }

  const Activation x_view_, y_view_;
  const Window window_;
  const uint8_t* position_;
  const T* gy_;
  T* gx_;
};

// A position must fit into a byte.
void check_area(const Shapes& shapes) {
  const auto kernel = shapes.whole_pair("kernel", 1);
  if (kernel[0] > 255 || kernel[1] > 255 || kernel[0] * kernel[1] > 255) {
    shapes.refuse("kernel", shown({kernel[0], kernel[1]}), "let it cover at most 255 pixels");
  }
}

void check_forward(const Shapes& shapes) {
  check_area(shapes);
  shapes.input_rank(0, 4);
  const Shape y = pooled(shapes, shapes.input(0));
  for (size_t i : {0, 1}) shapes.output_is(i, y);
}

void check_backward(const Shapes& shapes) {
  check_area(shapes);
  shapes.output_rank(0, 4);
  const Shape y = pooled(shapes, shapes.output(0));
  for (size_t i : {0, 1}) shapes.input_is(i, y);
}

std::unique_ptr<Kernel> make_forward(const OperatorSpec& spec) {
  auto planes = max_pool_of_planes(spec);
  return planes ? std::move(planes) : make_typed<MaxPool>(spec);
}

std::unique_ptr<Kernel> make_backward(const OperatorSpec& spec) {
  auto planes = max_pool_of_planes_backward(spec);
  return planes ? std::move(planes) : make_typed<MaxPoolBackward>(spec);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"maxPool2d", {{"x", activation}}, {{"y", activation}, {"position", position, true}}, check_forward, make_forward},
      {"maxPool2dBackward", {{"position", position}, {"gy", activation}}, {{"gx", activation}}, check_backward, make_backward},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
