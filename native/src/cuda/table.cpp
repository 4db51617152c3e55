#include "cuda/table.h"

#include <map>

namespace arbalest::cuda {

MadeKernel make_own(const OperatorSpec& spec, DeviceStream& stream) {
  static const std::map<std::string, MadeKernel (*)(const OperatorSpec&, DeviceStream&)> makers{
      {"load", make_load},
      {"relu", make_relu},
      {"reluBackward", make_relu_backward},
      {"add", make_add},
      {"multiply", make_multiply},
      {"sigmoid", make_activation_function},
      {"sigmoidBackward", make_activation_function},
      {"tanh", make_activation_function},
      {"tanhBackward", make_activation_function},
      {"leakyRelu", make_activation_function},
      {"leakyReluBackward", make_activation_function},
      {"gelu", make_activation_function},
      {"geluBackward", make_activation_function},
      {"silu", make_activation_function},
      {"siluBackward", make_activation_function},
      {"reshape", make_reshape},
      {"dropout", make_dropout},
      {"dropoutBackward", make_dropout},
      {"maxPool2d", make_max_pool},
      {"maxPool2dBackward", make_max_pool_backward},
      {"avgPool2d", make_average_pool},
      {"avgPool2dBackward", make_average_pool_backward},
      {"globalAvgPool", make_global_average_pool},
      {"globalAvgPoolBackward", make_global_average_pool_backward},
      {"subsamplePad", make_subsample_pad},
      {"subsamplePadBackward", make_subsample_pad_backward},
      {"batchNorm", make_batch_norm},
      {"batchNormInference", make_batch_norm_inference},
      {"batchNormBackward", make_batch_norm_backward},
      {"foldStatistics", make_fold_statistics},
      {"softmaxCrossEntropy", make_softmax_cross_entropy},
      {"softmaxCrossEntropyBackward", make_softmax_cross_entropy_backward},
      {"meanSquaredError", make_mean_squared_error},
      {"meanSquaredErrorBackward", make_mean_squared_error_backward},
      {"causalSelfAttention", make_attention},
      {"causalSelfAttentionBackward", make_attention_backward},
      {"layerNorm", make_layer_norm},
      {"layerNormBackward", make_layer_norm_backward},
      {"embedding", make_embedding},
      {"embeddingBackward", make_embedding_backward},
      {"positions", make_positions},
      {"positionsBackward", make_positions_backward},
      {"concat", make_concat},
      {"concatBackward", make_concat_backward},
      {"localResponseNorm", make_local_response_norm},
      {"localResponseNormBackward", make_local_response_norm_backward},
      {"binaryCrossEntropy", make_binary_cross_entropy},
      {"binaryCrossEntropyBackward", make_binary_cross_entropy_backward},
      {"reorder", make_reorder},
  };
  const auto found = makers.find(spec.kind);
  return found == makers.end() ? nullptr : found->second(spec, stream);
}

}  // namespace arbalest::cuda
