// The gradient of group norm, with the mask of its ReLU, the sum of two incoming gradients and the gradient of its residual.
// With g = (gy + gy2) masked by 0 < y < most, xhat = (x - mean) * inverse and M elements a group: gresidual = g; for each channel gbeta =
// sum g and ggamma = sum g * xhat; gx = inverse * (g * gamma - sum(g * gamma) / M - xhat * sum(g * gamma * xhat) / M), summed over the
// group.
#include "cpu/kernels/group_norm.h"
#include "cpu/kernels/norm_gradient_rows.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

template <class T> class GroupNormBackward final : public Kernel {
 public:
  explicit GroupNormBackward(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        norms_(static_cast<int64_t>(spec.attributes.number("groups"))),
        channels_(spec.inputs[0].shape()[1]),
        size_(channels_ / norms_),
        spans_(norm_spans(layout_, size_)),
        streams_(spec),
        gamma_(input<float>(spec, 1)),
        mean_(input<float>(spec, 2)),
        inverse_(input<float>(spec, 3)),
        ggamma_(output<float>(spec, 1)),
        gbeta_(output<float>(spec, 2)),
        products_(static_cast<size_t>(2 * layout_.images * channels_)),
        norm_sums_(static_cast<size_t>(layout_.images * norms_)) {}

  void run(const StepContext&) override {
    const auto spans = static_cast<int64_t>(spans_.size());
    for_variant(streams_, [&]<class Which>() {
      for_each(layout_.images * spans, layout_.elements, [&](int64_t item) { differentiate<Which>(item / spans, spans_[item % spans]); });
    });
    for (int64_t c = 0; c < channels_; ++c) {
      double shift = 0, scale = 0;
      for (int64_t image = 0; image < layout_.images; ++image) {
        const float* sums = &products_[2 * (image * channels_ + c)];
        shift += static_cast<double>(sums[0]);
        scale += static_cast<double>(sums[1]);
      }
      gbeta_[c] = static_cast<float>(shift);
      ggamma_[c] = static_cast<float>(scale);
    }
  }

 private:
  // Of one norm group in one image.
  struct NormSums {
    double sum = 0, product = 0;  // of g * gamma, of g * gamma * xhat
  };

  template <class Which> void differentiate(int64_t image, const NormSpan& span) {
    NormSums* const norms = &norm_sums_[image * norms_];
    for (int64_t norm = span.first_norm; norm < span.last_norm; ++norm) norms[norm] = {};
    for (size_t g = span.first; g < span.last; ++g) add_sums<Which>(layout_.groups[g], image, norms);
    if (!streams_.gx) return;
    // The latest are the warmest.
    for (size_t g = span.last; g-- > span.first;)
      apply_rows<Which>(layout_, layout_.groups[g], image, streams_, row_of(layout_.groups[g], image, norms));
  }

  template <class Which> void add_sums(const ChannelGroup& group, int64_t image, NormSums* norms) {
    float means[kMostWidth], mean[kMostWidth];
    for (int c = 0; c < group.channels; ++c) means[c] = mean_[norm_of(image, group.channel + c)];
    spread(group, mean, means);
    Floats sums[kMostVectors] = {}, products[kMostVectors] = {};
    sum_rows<Which>(layout_, group, image, streams_, mean, sums, products);
    float of_sums[kMostWidth], of_products[kMostWidth];
    gather(group, of_sums, sums);
    gather(group, of_products, products);
    for (int c = 0; c < group.channels; ++c) {
      const int64_t channel = group.channel + c;
      const float product = of_products[c] * inverse_[norm_of(image, channel)];
      float* const found = &products_[2 * (image * channels_ + channel)];
      found[0] = of_sums[c];
      found[1] = product;
      NormSums& norm = norms[channel / size_];
      norm.sum += double{gamma_[channel]} * double{of_sums[c]};
      norm.product += double{gamma_[channel]} * double{product};
    }
  }

  GradientRow row_of(const ChannelGroup& group, int64_t image, const NormSums* norms) const {
    const double elements = static_cast<double>(size_ * (layout_.elements_a_channel / layout_.images));
    float mean[kMostWidth], scale[kMostWidth], slope[kMostWidth], offset[kMostWidth];
    for (int c = 0; c < group.channels; ++c) {
      const int64_t channel = group.channel + c, at = norm_of(image, channel);
      const NormSums& norm = norms[channel / size_];
      const double inverse = inverse_[at];
      mean[c] = mean_[at];
      scale[c] = static_cast<float>(gamma_[channel] * inverse);
      slope[c] = static_cast<float>(-inverse * inverse * norm.product / elements);
      offset[c] = static_cast<float>(-inverse * norm.sum / elements);
    }
    return GradientRow(group, mean, scale, slope, offset);
  }

  int64_t norm_of(int64_t image, int64_t channel) const { return image * norms_ + channel / size_; }

  const ChannelGroups layout_;
  const int64_t norms_, channels_, size_;  // norm groups, channels, and channels of a group
  const std::vector<NormSpan> spans_;
  const GradientStreams<T> streams_;
  const float* gamma_;               // (C)
  const float *mean_, *inverse_;     // (N, norms)
  float *ggamma_, *gbeta_;           // (C)
  std::vector<float> products_;      // (N, C, 2): of g, of g * xhat
  std::vector<NormSums> norm_sums_;  // (N, norms)
};

std::vector<Operator> operators() {
  using enum Role;
  return {{"groupNormBackward",
           {{"x", activation},
            {"gamma", parameter},
            {"mean", parameter},
            {"inverse", parameter},
            {"y", activation, true},
            {"gy", activation},
            {"gy2", activation, true}},
           {{"gx", activation, true}, {"ggamma", parameter}, {"gbeta", parameter}, {"gresidual", activation, true}},
           check_group_norm_gradient,
           make_typed<GroupNormBackward>,
           // Every element is read before it is written, by the first pass (gresidual) or by the second (gx).
           {{0, 5}, {3, 6}, {0, 0}, {3, 4}}}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
