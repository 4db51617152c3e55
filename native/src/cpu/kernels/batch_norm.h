// The sums from which batch norm has its statistics and its gradients: each group of channels is summed by chunks of images.
#pragma once

#include "cpu/kernels/channels.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

inline size_t partial_sums(const ChannelGroups& layout) { return layout.groups.size() * static_cast<size_t>(layout.chunks()); }

// For the partial sums of the first input.
template <class Sums> size_t scratch_of(const Shapes&, const LoweringAnswer& answer) {
  return partial_sums(ChannelGroups(activation_of(answer.inputs[0]))) * sizeof(Sums);
}

}  // namespace arbalest::kernels
