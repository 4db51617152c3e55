// Every pixel `factor` times along each axis: the nearest neighbour of a larger image. Its gradient is a sum over those pixels.
#include "cpu/kernels/operator.h"
#include "cpu/kernels/strips.h"

namespace arbalest::kernels {
namespace {

// A small image and a large one, each of whose pixels has `rows` times `columns` there.
struct Sizes {
  Activation small, large;
  int64_t rows, columns;

  Sizes(const Activation& small_, const Activation& large_)
      : small(small_), large(large_), rows(large_.height / small_.height), columns(large_.width / small_.width) {}

  // body(pixel, first): elements from a strip's beginning to a small pixel, and to the first of its large ones.
  template <class Body> void for_each_pixel(const Body& body) const {
    for (int64_t h = 0; h < small.height; ++h) {
      for (int64_t w = 0; w < small.width; ++w)
        body((h * small.width + w) * small.lanes, (h * rows * large.width + w * columns) * large.lanes);
    }
  }
};

template <class T> class Upsample final : public Kernel {
 public:
  explicit Upsample(const OperatorSpec& spec)
      : sizes_(activation_of(spec.inputs[0].spec), activation_of(spec.outputs[0].spec)), x_(input<T>(spec, 0)), y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each_strip(sizes_.small, sizes_.large.elements(), [&]<class Lanes>(const Strip& strip) {
      const T* from = x_ + strip.begin(sizes_.small);
      T* to = y_ + strip.begin(sizes_.large);
      const int64_t stride = sizes_.large.lanes, row_stride = sizes_.large.width * stride;
      sizes_.for_each_pixel([&](int64_t pixel, int64_t first) {
        const auto value = Lanes::load(from + pixel, strip.width);
        for (int64_t i = 0; i < sizes_.rows; ++i) {
          for (int64_t j = 0; j < sizes_.columns; ++j) Lanes::store(to + first + i * row_stride + j * stride, value, strip.width);
        }
      });
    });
  }

 private:
  const Sizes sizes_;
  const T* x_;
  T* y_;
};

template <class T> class UpsampleBackward final : public Kernel {
 public:
  explicit UpsampleBackward(const OperatorSpec& spec)
      : sizes_(activation_of(spec.outputs[0].spec), activation_of(spec.inputs[0].spec)), gy_(input<T>(spec, 0)), gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each_strip(sizes_.small, sizes_.large.elements(), [&]<class Lanes>(const Strip& strip) {
      const T* from = gy_ + strip.begin(sizes_.large);
      T* to = gx_ + strip.begin(sizes_.small);
      const int64_t stride = sizes_.large.lanes, row_stride = sizes_.large.width * stride;
      sizes_.for_each_pixel([&](int64_t pixel, int64_t first) {
        typename Lanes::Value sum{};
        for (int64_t i = 0; i < sizes_.rows; ++i) {
          for (int64_t j = 0; j < sizes_.columns; ++j) sum += Lanes::load(from + first + i * row_stride + j * stride, strip.width);
        }
        Lanes::store(to + pixel, sum, strip.width);
      });
    });
  }

 private:
  const Sizes sizes_;
  const T* gy_;
  T* gx_;
};

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"upsample2d", {{"x", activation}}, {{"y", activation}}, check_upsample, make_typed<Upsample>},
      {"upsample2dBackward", {{"gy", activation}}, {{"gx", activation}}, check_upsample_gradient, make_typed<UpsampleBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
