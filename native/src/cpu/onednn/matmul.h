// Products of two activations, batched, by oneDNN: y (..., M, O) = a (..., M, K) b (..., K, O), each of them transposed if its attribute
// says so.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "device/backend.h"

namespace arbalest {

LoweringAnswer lower_matmul(const LoweringRequest& request, const dnnl::engine& engine);
std::unique_ptr<Kernel> make_matmul(const OperatorSpec& spec, const dnnl::engine& engine);

}  // namespace arbalest
