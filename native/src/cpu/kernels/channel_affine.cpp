// Each channel of an image times a number of its own, plus another: x (N, C, H, W), scale and shift (C), either of which may be absent.
#include "cpu/channel_affine.h"

#include "cpu/kernels/batch_norm.h"

namespace arbalest::kernels {
namespace {

// A group's numbers, as its channels lie in a row; `otherwise` for all of them where there are none.
class Numbers {
 public:
  Numbers(const ChannelGroup& group, const float* numbers, float otherwise) {
    if (numbers)
      spread(group, lanes_, numbers + group.channel);
    else
      std::fill_n(lanes_, kMostWidth, otherwise);
  }
  Floats operator[](int vector) const { return load(lanes_ + vector * kLanes); }

 private:
  float lanes_[kMostWidth];
};

template <class T> class ChannelAffine final : public Kernel {
 public:
  explicit ChannelAffine(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        x_(input<T>(spec, 0)),
        scale_(input<float>(spec, 1)),
        shift_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for_each(groups * layout_.images, layout_.elements, [&](int64_t item) {
      const ChannelGroup& group = layout_.groups[item % groups];
      for_registers(group, [&]<int Vectors, bool Partial>() { apply<Vectors, Partial>(group, item / groups); });
    });
  }

 private:
  template <int Vectors, bool Partial> void apply(const ChannelGroup& group, int64_t image) const {
    const Numbers scale(group, scale_, 1), shift(group, shift_, 0);
    const auto pass = [&]<bool Less>(int64_t at, int v, int width) {
      store<Less>(y_ + at, load<Less>(x_ + at, width) * scale[v] + shift[v], width);
    };
    int64_t at = layout_.at(group, image);
    for (int64_t i = 0; i < layout_.rows; ++i, at += layout_.row_stride)
      for (int v = 0; v < Vectors; ++v) pass.template operator()<Partial>(at + v * kLanes, v, group.width);
    if (layout_.tail) pass.template operator()<true>(at, 0, layout_.tail);
  }

  const ChannelGroups layout_;
  const T* x_;
  const float *scale_, *shift_;  // (C) or null
  T* y_;                         // may be x
};

struct Products {
  double sum[kMostWidth], product[kMostWidth];  // of gy, of gy * x
};

// gx = gy * scale, gscale = sum gy * x, gshift = sum gy.
template <class T> class ChannelAffineBackward final : public Kernel {
 public:
  explicit ChannelAffineBackward(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[2].spec)),
        x_(input<T>(spec, 0)),
        scale_(input<float>(spec, 1)),
        gy_(input<T>(spec, 2)),
        gx_(output<T>(spec, 0)),
        gscale_(output<float>(spec, 1)),
        gshift_(output<float>(spec, 2)),
        products_(spec, partial_sums(layout_)) {}

  void run(const StepContext&) override {
    const int64_t chunks = layout_.chunks();
    for_each(static_cast<int64_t>(layout_.groups.size()) * chunks, layout_.elements, [&](int64_t item) {
      const ChannelGroup& group = layout_.groups[item / chunks];
      for_registers(group, [&]<int Vectors, bool Partial>() {
        if (x_)
          gather<Vectors, Partial, true>(group, item % chunks, products_[item]);
        else
          gather<Vectors, Partial, false>(group, item % chunks, products_[item]);
      });
    });
    for (int64_t g = 0; g < static_cast<int64_t>(layout_.groups.size()); ++g) finish(g);
  }

 private:
  // Of the rows of some images.
  template <int Vectors, bool Partial, bool WithX> void gather(const ChannelGroup& group, int64_t chunk, Products& found) const {
    const Numbers scale(group, scale_, 1);
    const int64_t first = chunk * layout_.images_a_chunk(), last = std::min(layout_.images, first + layout_.images_a_chunk());
    double sum[kMostWidth] = {}, product[kMostWidth] = {};
    for (int64_t image = first; image < last; ++image) {
      Floats sums[Vectors] = {}, products[Vectors] = {};
      const auto pass = [&]<bool Less>(int64_t at, int v, int width) {
        const Floats gradient = load<Less>(gy_ + at, width);
        sums[v] += gradient;
        if constexpr (WithX) products[v] += gradient * load<Less>(x_ + at, width);
        if (gx_) store<Less>(gx_ + at, gradient * scale[v], width);
      };
      // In pieces: a float that has summed many rows takes little of another one.
      const auto settle = [&] {
        for (int v = 0; v < Vectors; ++v) {
          for (int lane = 0; lane < kLanes; ++lane) {
            sum[v * kLanes + lane] += sums[v][lane];
            product[v * kLanes + lane] += products[v][lane];
          }
          sums[v] = products[v] = Floats{};
        }
      };
      int64_t at = layout_.at(group, image);
      for (int64_t row = 0; row < layout_.rows; ++row, at += layout_.row_stride) {
        if (row % kRowsAPiece == kRowsAPiece - 1) settle();
        for (int v = 0; v < Vectors; ++v) pass.template operator()<Partial>(at + v * kLanes, v, group.width);
      }
      if (layout_.tail) pass.template operator()<true>(at, 0, layout_.tail);
      settle();
    }
    std::copy_n(sum, kMostWidth, found.sum);
    std::copy_n(product, kMostWidth, found.product);
  }

  void finish(int64_t g) const {
    const ChannelGroup& group = layout_.groups[g];
    for (int c = 0; c < group.channels; ++c) {
      double sum = 0, product = 0;
      for (int64_t chunk = 0; chunk < layout_.chunks(); ++chunk) {
        const Products& found = products_[g * layout_.chunks() + chunk];
        for (int i = c; i < group.width; i += group.period) {
          sum += found.sum[i];
          product += found.product[i];
        }
      }
      if (gscale_) gscale_[group.channel + c] = static_cast<float>(product);
      if (gshift_) gshift_[group.channel + c] = static_cast<float>(sum);
    }
  }

  static constexpr int64_t kRowsAPiece = 1024;

  const ChannelGroups layout_;
  const T* x_;          // or null
  const float* scale_;  // (C) or null
  const T* gy_;
  T* gx_;                            // or null; may be gy
  float *gscale_, *gshift_;          // (C) or null
  PlannedItems<Products> products_;  // (groups, chunks)
};

// For the sums of gy, which is always there.
size_t scratch(const Shapes&, const LoweringAnswer& answer) {
  return partial_sums(ChannelGroups(activation_of(answer.inputs[2]))) * sizeof(Products);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"channelAffine",
       {{"x", activation}, {"scale", parameter, true}, {"shift", parameter, true}},
       {{"y", activation}},
       check_channel_affine,
       make_typed<ChannelAffine>,
       {{0, 0}}},
      {"channelAffineBackward",
       {{"x", activation, true}, {"scale", parameter, true}, {"gy", activation}},
       {{"gx", activation, true}, {"gscale", parameter, true}, {"gshift", parameter, true}},
       check_channel_affine_gradient,
       make_typed<ChannelAffineBackward>,
       {{0, 2}},
       scratch},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
