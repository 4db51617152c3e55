// Group norm with residual add and ReLU in one operator: Wu and He, "Group normalization", ECCV 2018.
// y = (x - mean) * inverse * gamma + beta (+ residual), (in [0, most]), with the mean and 1 / sqrt(variance + epsilon) of each group of
// channels of one image.
#include "cpu/kernels/group_norm.h"

#include <cmath>

#include "cpu/kernels/norm_moments.h"
#include "cpu/kernels/normalise_rows.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

template <class T> class GroupNorm final : public Kernel {
 public:
  explicit GroupNorm(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        norms_(static_cast<int64_t>(spec.attributes.number("groups"))),
        size_(spec.inputs[0].shape()[1] / norms_),
        spans_(norm_spans(layout_, size_)),
        x_(input<T>(spec, 0)),
        gamma_(input<float>(spec, 1)),
        beta_(input<float>(spec, 2)),
        mean_(output<float>(spec, 1)),
        inverse_(output<float>(spec, 2)),
        epsilon_(spec.attributes.number("epsilon")),
        normaliser_(layout_, x_, input<T>(spec, 3), output<T>(spec, 0), spec.attributes),
        moments_(static_cast<size_t>(layout_.images * norms_)) {}

  void run(const StepContext&) override {
    const auto spans = static_cast<int64_t>(spans_.size());
    for_each(layout_.images * spans, layout_.elements, [&](int64_t item) { normalise(item / spans, spans_[item % spans]); });
  }

 private:
  void normalise(int64_t image, const NormSpan& span) {
    MergedMoments* const norms = &moments_[image * norms_];
    for (int64_t norm = span.first_norm; norm < span.last_norm; ++norm) norms[norm] = {};
    for (size_t g = span.first; g < span.last; ++g) add_moments(layout_.groups[g], image, norms);
    for (int64_t norm = span.first_norm; norm < span.last_norm; ++norm) {
      if (mean_) mean_[image * norms_ + norm] = static_cast<float>(norms[norm].mean);
      if (inverse_) inverse_[image * norms_ + norm] = static_cast<float>(inverse_of(norms[norm]));
    }
    // The latest are the warmest.
    for (size_t g = span.last; g-- > span.first;) apply(layout_.groups[g], image, norms);
  }

  void add_moments(const ChannelGroup& group, int64_t image, MergedMoments* norms) const {
    Moments moments;
    find_moments(layout_, group, x_, image, image + 1, moments);
    for (int c = 0; c < group.channels;) {
      const int64_t norm = (group.channel + c) / size_;
      const int end = static_cast<int>(std::min<int64_t>(group.channels, (norm + 1) * size_ - group.channel));
      norms[norm].merge(of_channels(group, c, end, moments));
      c = end;
    }
  }

  // Of a group's channels [begin, end).
  static MergedMoments of_channels(const ChannelGroup& group, int begin, int end, const Moments& moments) {
    MergedMoments all;
    const auto for_elements = [&](const auto& body) {
      for (int row = 0; row < group.width; row += group.period) {
        for (int i = row + begin; i < std::min(row + end, group.width); ++i) body(i);
      }
    };
    for_elements([&](int i) {
      all.count += moments.count[i];
      all.mean += moments.count[i] * moments.mean[i];
    });
    if (all.count == 0) return {};
    all.mean /= all.count;
    for_elements([&](int i) {
      const double step = moments.mean[i] - all.mean;
      all.square += moments.square[i] + moments.count[i] * step * step;
    });
    return all;
  }

  double inverse_of(const MergedMoments& norm) const { return 1 / std::sqrt(norm.square / norm.count + epsilon_); }

  void apply(const ChannelGroup& group, int64_t image, const MergedMoments* norms) const {
    float means[kMostWidth], scales[kMostWidth];
    double inverse = 0;
    for (int c = 0; c < group.channels; ++c) {
      const int64_t channel = group.channel + c;
      const MergedMoments& norm = norms[channel / size_];
      if (c == 0 || channel % size_ == 0) inverse = inverse_of(norm);
      means[c] = static_cast<float>(norm.mean);
      scales[c] = static_cast<float>(gamma_[channel] * inverse);
    }
    normaliser_.apply(group, image, NormaliseRow(group, means, scales, beta_ + group.channel));
  }

  const ChannelGroups layout_;
  const int64_t norms_, size_;  // norm groups, and channels of each
  const std::vector<NormSpan> spans_;
  const T* x_;
  const float *gamma_, *beta_;  // (C)
  float *mean_, *inverse_;      // (N, norms) or null
  const double epsilon_;
  const Normaliser<T> normaliser_;
  std::vector<MergedMoments> moments_;  // (N, norms)
};

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"groupNorm",
       {{"x", activation}, {"gamma", parameter}, {"beta", parameter}, {"residual", activation, true}},
       {{"y", activation}, {"mean", parameter, true}, {"inverse", parameter, true}},
       check_group_norm,
       make_typed<GroupNorm>,
       // A thread reads all of its elements before it writes them.
       {{0, 0}, {0, 3}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
