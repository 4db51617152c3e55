#include "cuda/device/convolution.h"

#include "cuda/device/convolution_plan.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

class Convolution {
 public:
  Convolution(Direction direction, const Tensor& x, const Tensor& w, const Tensor& y, const OperatorSpec& spec, bool tf32,
              CudaStream& stream) {
    const ConvolutionTensors tensors{direction, x, w, y};
    plan_ = ConvolutionPlan::of(tensors, spec.attributes, tf32, stream);
    pointers_ = ConvolutionPlan::pointers(tensors);
  }

  void run() { plan_->run(pointers_); }

 private:
  std::shared_ptr<const ConvolutionPlan> plan_;
  ConvolutionPlan::Pointers pointers_;
};

std::shared_ptr<Convolution> convolution(Direction direction, const Tensor& x, const Tensor& w, const Tensor& y, const OperatorSpec& spec,
                                         bool tf32, CudaStream& stream) {
  return std::make_shared<Convolution>(direction, x, w, y, spec, tf32, stream);
}

MadeKernel weights_gradient(const OperatorSpec& spec, DeviceStream& stream, bool tf32) {
  const Tensor &x = spec.inputs[0], &gy = spec.inputs[1], &gw = spec.outputs[0], &gb = spec.outputs[1];
  const auto gradient = convolution(Direction::weights, x, gw, gy, spec, tf32, static_cast<CudaStream&>(stream));
  return queued([&stream, gradient, gy, gb, partials = static_cast<float*>(spec.scratch)] {
    gradient->run();
    if (gb) queue_bias_gradient(gy, gy.shape()[1], gb.as<float>(), partials, stream);
  });
}

}  // namespace

MadeKernel make_convolution(const OperatorSpec& spec, DeviceStream& stream, bool tf32) {
  auto& queue = static_cast<CudaStream&>(stream);
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  if (spec.kind == "conv2d") {
    const auto forward = convolution(Direction::forward, in[0], in[1], out[0], spec, tf32, queue);
    return queued([forward, &stream, y = out[0], b = in[2].as<float>(), relu = flag(spec.attributes, "relu")] {
      forward->run();
      queue_bias(y, y.shape()[1], b, relu, stream);
    });
  }
  if (spec.kind == "conv2dBackwardData") {
    const auto data = convolution(Direction::data, out[0], in[1], in[0], spec, tf32, queue);
    return queued([data] { data->run(); });
  }
  return spec.kind == "conv2dBackwardWeights" ? weights_gradient(spec, stream, tf32) : nullptr;
}

}  // namespace arbalest::cuda
