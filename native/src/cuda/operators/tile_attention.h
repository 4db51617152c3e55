// Self-attention in bfloat16 without scores in memory: Dao, "FlashAttention-2", ICLR 2024. A block has the scores of a few places with each
// other in registers; the softmax's sum is corrected as higher scores come. The gradient computes the probabilities again from the sum's
// logarithm: once by blocks of keys, for the gradients of keys and values, and once by blocks of queries, for theirs. So every sum has a
// fixed order.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Whether the kernels here take attention of these features (N, T, heads * width). Else the library's products do, with scores in memory.
bool is_tile_attention(Type precision, const Shape& features, const Attributes& attributes);

// Bytes beside the gradient's tensors.
size_t tile_attention_backward_scratch(const Shape& features, const Attributes& attributes);

// Of operators that are.
template <bool Causal> MadeKernel make_tile_attention(const OperatorSpec& spec, DeviceStream& stream);
template <bool Causal> MadeKernel make_tile_attention_backward(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
