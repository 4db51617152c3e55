// The operations around a library's convolution or matrix product: bias and ReLU after it, the gradient of the bias.
#pragma once

#include "cuda/device_stream.h"
#include "device/backend.h"

namespace arbalest::cuda {

// y = max(0, y + bias) over (rows, channels) in place; without a bias or without ReLU, only the other one.
void queue_bias(const Tensor& y, int64_t channels, const float* bias, bool relu, DeviceStream& stream);

// sums (channels) of gy (rows, channels) over its rows; `partials` holds bias_scratch(channels) bytes.
void queue_bias_gradient(const Tensor& gy, int64_t channels, float* sums, float* partials, DeviceStream& stream);
size_t bias_scratch(int64_t channels);

}  // namespace arbalest::cuda
