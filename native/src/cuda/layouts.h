// Layouts of the CUDA backend. An image with one channel or one pixel is the same memory in both layouts and is called "plain".
#pragma once

#include "cuda/tensors.h"

namespace arbalest::cuda {

// Weights of a convolution, (O, KH, KW, I / groups): the counterpart of "nhwc" for activations.
inline constexpr std::string_view kOhwi = "ohwi";

inline bool lies_both_ways(const Shape& shape) { return shape.size() != 4 || shape[1] == 1 || shape[2] * shape[3] == 1; }

inline bool channels_last(const TensorSpec& spec) { return !lies_both_ways(spec.shape) && (spec.layout == kNhwc || spec.layout == kOhwi); }

inline std::string image_layout(const Shape& shape) { return std::string(lies_both_ways(shape) ? kPlain : kNhwc); }
inline std::string weights_layout(const Shape& shape) { return std::string(lies_both_ways(shape) ? kPlain : kOhwi); }

}  // namespace arbalest::cuda
