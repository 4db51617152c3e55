// Every operator that we compute by kernels of our own, by the function that makes it ready. Convolutions and matrix products are the
// library's: cuDNN and cuBLASLt on a GPU, plain loops in the stand-in.
#pragma once

#include <memory>

#include "cuda/device_stream.h"
#include "device/backend.h"

namespace arbalest::cuda {

using MadeKernel = std::unique_ptr<Kernel>;

MadeKernel make_relu(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_relu_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_add(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_multiply(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_activation_function(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_reshape(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_dropout(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_max_pool(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_max_pool_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_average_pool(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_average_pool_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_global_average_pool(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_global_average_pool_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_subsample_pad(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_subsample_pad_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_batch_norm(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_batch_norm_inference(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_batch_norm_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_fold_statistics(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_softmax_cross_entropy(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_softmax_cross_entropy_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_mean_squared_error(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_mean_squared_error_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_attention(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_attention_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_layer_norm(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_layer_norm_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_embedding(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_embedding_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_positions(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_positions_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_concat(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_concat_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_local_response_norm(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_local_response_norm_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_binary_cross_entropy(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_binary_cross_entropy_backward(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_load(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_reorder(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_reorder_together(const OperatorSpec& spec, DeviceStream& stream);

// Bytes of scratch that an operator wants beside its tensors.
size_t batch_norm_scratch(const Shape& x);
size_t softmax_cross_entropy_scratch(const Shape& logits);
size_t mean_squared_error_scratch(const Shape& prediction);
size_t binary_cross_entropy_scratch(const Shape& logits);
size_t layer_norm_backward_scratch(const Shape& x);
size_t embedding_backward_scratch(const Shape& tokens);
size_t local_response_norm_backward_scratch(const Shape& x);
size_t attention_scratch(const LoweringRequest& request);
size_t attention_backward_scratch(const LoweringRequest& request);

}  // namespace arbalest::cuda
