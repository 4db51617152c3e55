// The gradient of batch norm, with the mask of its ReLU, the sum of two incoming gradients and the gradient of its residual.
// With g = (gy + gy2) masked by 0 < y < most, xhat = (x - mean) / deviation and M elements a channel: gresidual = g, gbeta = sum g,
// ggamma = sum g * xhat, gx = gamma / deviation * (g - gbeta / M - xhat * ggamma / M).
#include "cpu/kernels/batch_norm.h"

#include <cmath>

#include "cpu/kernels/norm_gradient_rows.h"

namespace arbalest::kernels {
namespace {

struct Products {
  double sum[kMostWidth], product[kMostWidth];  // of g, of g * (x - mean)
};

template <class T> class BatchNormBackward final : public Kernel {
 public:
  explicit BatchNormBackward(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        streams_(spec),
        gamma_(input<float>(spec, 1)),
        mean_(input<float>(spec, 2)),
        variance_(input<float>(spec, 3)),
        ggamma_(output<float>(spec, 1)),
        gbeta_(output<float>(spec, 2)),
        epsilon_(spec.attributes.number("epsilon")),
        products_(spec, partial_sums(layout_)),
        rows_(layout_.groups.size()) {}

  void run(const StepContext&) override {
    for_variant(streams_, [&]<class Which>() {
      two_passes(
          layout_, [&](int64_t group, int64_t chunk) { gather<Which>(group, chunk); }, [&](int64_t group) { finish(group); },
          [&](int64_t group, int64_t image) { apply_rows<Which>(layout_, layout_.groups[group], image, streams_, rows_[group]); });
    });
  }

 private:
  template <class Which> void gather(int64_t g, int64_t chunk) {
    const ChannelGroup& group = layout_.groups[g];
    const int64_t first = chunk * layout_.images_a_chunk(), last = std::min(layout_.images, first + layout_.images_a_chunk());
    float mean[kMostWidth];
    spread(group, mean, mean_ + group.channel);
    Floats sums[kMostVectors] = {}, products[kMostVectors] = {};
    for (int64_t image = first; image < last; ++image) sum_rows<Which>(layout_, group, image, streams_, mean, sums, products);
    Products& found = products_[g * layout_.chunks() + chunk];
    for (int i = 0; i < group.vectors * kLanes; ++i) {
      found.sum[i] = sums[i / kLanes][i % kLanes];
      found.product[i] = products[i / kLanes][i % kLanes];
    }
  }

  void finish(int64_t g) {
    const ChannelGroup& group = layout_.groups[g];
    const double elements = static_cast<double>(layout_.elements_a_channel);
    float scale[kMostWidth], slope[kMostWidth], offset[kMostWidth];
    for (int c = 0; c < group.channels; ++c) {
      double sum = 0, product = 0;
      for (int64_t chunk = 0; chunk < layout_.chunks(); ++chunk) {
        const Products& found = products_[g * layout_.chunks() + chunk];
        for (int i = c; i < group.width; i += group.period) {
          sum += found.sum[i];
          product += found.product[i];
        }
      }
      const int64_t channel = group.channel + c;
      const double inverse = 1 / std::sqrt(variance_[channel] + epsilon_), factor = gamma_[channel] * inverse;
      gbeta_[channel] = static_cast<float>(sum);
      ggamma_[channel] = static_cast<float>(product * inverse);
      scale[c] = static_cast<float>(factor);
      slope[c] = static_cast<float>(-factor * inverse * inverse * product / elements);
      offset[c] = static_cast<float>(-factor * sum / elements);
    }
    rows_[g] = GradientRow(group, mean_ + group.channel, scale, slope, offset);
  }

  const ChannelGroups layout_;
  const GradientStreams<T> streams_;
  const float *gamma_, *mean_, *variance_;  // (C)
  float *ggamma_, *gbeta_;                  // (C)
  const double epsilon_;
  PlannedItems<Products> products_;  // (groups, chunks)
  std::vector<GradientRow> rows_;    // (groups)
};

void check(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank(0, 4);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2, 3}) shapes.input_is(i, {x[1]});
  for (size_t i : {4, 5, 6}) shapes.input_is(i, x);
  if (shapes.attributes().number("relu", 0) != 0 && !shapes.has_input(4)) {
    shapes.refuse("input y", "none", "give it: with relu the gradient is masked by y > 0");
  }
  for (size_t i : {0, 3}) shapes.output_is(i, x);
  for (size_t i : {1, 2}) shapes.output_is(i, {x[1]});
}

std::vector<Operator> operators() {
  using enum Role;
  return {{"batchNormBackward",
           {{"x", activation},
            {"gamma", parameter},
            {"mean", parameter},
            {"variance", parameter},
            {"y", activation, true},
            {"gy", activation},
            {"gy2", activation, true}},
           {{"gx", activation, true}, {"ggamma", parameter}, {"gbeta", parameter}, {"gresidual", activation, true}},
           check,
           make_typed<BatchNormBackward>,
           // Every element is read before it is written, by the first pass (gresidual) or by the second (gx).
           {{0, 5}, {3, 6}, {0, 0}, {3, 4}},
           scratch_of<Products>}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
