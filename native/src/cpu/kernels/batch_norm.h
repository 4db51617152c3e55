// The numbers of each channel for the passes of batch norm, spread over the elements of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/kernels/channels.h"
#include "cpu/kernels/fetch_ahead.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// y = (x - mean) * scale + beta. All are zero in padding lanes, and so is y.
struct NormaliseRow {
  float mean[kMostWidth], scale[kMostWidth], beta[kMostWidth];

  NormaliseRow() = default;
  // `mean`, `variance`, `gamma` and `beta` are (C).
  NormaliseRow(const ChannelGroup& group, const float* means, const float* variances, const float* gammas, const float* betas,
               double epsilon) {
    float scales[kMostWidth];
    for (int c = 0; c < group.channels; ++c) {
      const int64_t channel = group.channel + c;
      scales[c] = static_cast<float>(gammas[channel] / std::sqrt(variances[channel] + epsilon));
    }
    spread(group, mean, means + group.channel);
    spread(group, scale, scales);
    spread(group, beta, betas + group.channel);
  }
};

// Rows of a line of memory, if it has several.
template <class T, int Vectors> inline constexpr int64_t kRowsOfLine = std::max<int64_t>(1, kLineBytes / (Vectors * kLanes * sizeof(T)));

// Each group of channels is summed by chunks of images.
inline size_t partial_sums(const ChannelGroups& layout) { return layout.groups.size() * static_cast<size_t>(layout.chunks()); }

// For the partial sums of the first input.
template <class Sums> size_t scratch_of(const Shapes&, const LoweringAnswer& answer) {
  return partial_sums(ChannelGroups(activation_of(answer.inputs[0]))) * sizeof(Sums);
}

// What y is at most, with relu.
inline float most_of(const Attributes& attributes) {
  return static_cast<float>(attributes.number("most", std::numeric_limits<double>::infinity()));
}

}  // namespace arbalest::kernels
