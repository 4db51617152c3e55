#include "convolution.h"

#include <algorithm>
#include <cfloat>
#include <mutex>
#include <unordered_map>

#include "../operator_attributes.h"
#include "../operators/bias.h"
#include "../operators/queued.h"
#include "cuda_stream.h"
#include "cudnn.h"
#include "plan_cache.h"

namespace arbalest::cuda {
namespace {

namespace fe = cudnn_frontend;

constexpr int64_t kMostWorkspace = int64_t{256} << 20;
// Of those that cuDNN's heuristics order by promise, so many are timed.
constexpr int64_t kMostTimed = 12;
constexpr int kTimedRuns = 5;

enum Uid : int64_t { kX = 1, kW = 2, kY = 3 };

enum class Direction { forward, data, weights };

fe::DataType_t type_of(Type type) { return type == Type::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::FLOAT; }

// (N, C, H, W) in dimension order, channels last in memory.
std::shared_ptr<fe::graph::Tensor_attributes> described(fe::graph::Graph& graph, const Tensor& tensor, Uid uid) {
  const Shape& s = tensor.shape();
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_dim({s[0], s[1], s[2], s[3]})
                          .set_stride({s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]})
                          .set_data_type(type_of(tensor.spec.type))
                          .set_uid(uid));
}

void finish(const std::shared_ptr<fe::graph::Tensor_attributes>& output, const Tensor& tensor, Uid uid) {
  const Shape& s = tensor.shape();
  output->set_output(true)
      .set_dim({s[0], s[1], s[2], s[3]})
      .set_stride({s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]})
      .set_data_type(type_of(tensor.spec.type))
      .set_uid(uid);
}

// One of cuDNN's plans for a convolution, chosen once and run often.
class Convolution {
 public:
  Convolution(Direction direction, const Tensor& x, const Tensor& w, const Tensor& y, const Attributes& attributes, bool tf32,
              CudaStream& stream)
      : stream_(stream), pointers_{{kX, x.data}, {kW, w.data}, {kY, y.data}} {
    build(direction, x, w, y, window_of(attributes, 0, 0), tf32 && x.spec.type == Type::f32, x.spec.type);
    choose(key_of(direction, x, w, y, attributes, tf32));
    int64_t bytes = 0;
    check(graph_->get_workspace_size_plan_at_index(plan_, bytes), "convolution");
    workspace_ = stream_.workspace(static_cast<size_t>(bytes));
  }

  void run() { check(graph_->execute_plan_at_index(stream_.cudnn(), pointers_, workspace_, plan_), "convolution"); }

 private:
  void build(Direction direction, const Tensor& x, const Tensor& w, const Tensor& y, const Window& window, bool tf32, Type type) {
    graph_ = std::make_shared<fe::graph::Graph>();
    graph_->set_io_data_type(type_of(type)).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
    const auto options = [&](auto conv) {
      return conv.set_padding({window.padding[0], window.padding[1]}).set_stride({window.stride[0], window.stride[1]}).set_dilation({1, 1});
    };
    if (direction == Direction::forward)
      finish(graph_->conv_fprop(described(*graph_, x, kX), described(*graph_, w, kW), options(fe::graph::Conv_fprop_attributes())), y, kY);
    else if (direction == Direction::data)
      finish(graph_->conv_dgrad(described(*graph_, y, kY), described(*graph_, w, kW), options(fe::graph::Conv_dgrad_attributes())), x, kX);
    else
      finish(graph_->conv_wgrad(described(*graph_, y, kY), described(*graph_, x, kX), options(fe::graph::Conv_wgrad_attributes())), w, kW);
    check(graph_->validate(), "convolution");
    check(graph_->build_operation_graph(stream_.cudnn()), "convolution");
    check(graph_->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "convolution");
    graph_->deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    // f32 means f32, unless it is asked otherwise.
    if (type == Type::f32 && !tf32) graph_->deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
    graph_->deselect_workspace_greater_than(kMostWorkspace);
    check(graph_->check_support(stream_.cudnn()), "convolution");
  }

  static std::string key_of(Direction direction, const Tensor& x, const Tensor& w, const Tensor& y, const Attributes& attributes,
                            bool tf32) {
    int device = 0;
    cudaDeviceProp properties{};
    check(cudaGetDevice(&device), "device");
    check(cudaGetDeviceProperties(&properties, device), "device");
    std::string key =
        std::string(properties.name) + " cudnn" + std::to_string(open_cudnn()) + " " + std::to_string(static_cast<int>(direction));
    for (const Tensor* tensor : {&x, &w, &y}) {
      key += tensor->spec.type == Type::bf16 ? " bf16" : tf32 ? " tf32" : " f32";
      for (int64_t extent : tensor->shape()) key += "," + std::to_string(extent);
    }
    for (const char* name : {"stride", "padding"})
      for (double value : attributes.list(name)) key += " " + std::to_string(static_cast<int>(value));
    return key;
  }

  void choose(const std::string& key) {
    static PlanCache cache(PlanCache::default_file());
    if (const auto name = cache.find(key); name && take(*name)) return;
    // One at a time: plans that are timed together measure each other.
    static std::mutex one;
    const std::lock_guard lock(one);
    if (const auto name = cache.find(key); name && take(*name)) return;
    plan_ = fastest();
    std::string name;
    check(graph_->get_plan_name_at_index(plan_, name), "convolution");
    cache.keep(key, name);
  }

  bool take(const std::string& wanted) {
    for (int64_t i = 0; i < graph_->get_execution_plan_count(); ++i) {
      std::string name;
      if (graph_->get_plan_name_at_index(i, name).is_bad() || name != wanted) continue;
      if (graph_->build_plan_at_index(stream_.cudnn(), i).is_bad()) return false;
      plan_ = i;
      return true;
    }
    return false;
  }

  // Over the operator's own tensors: what they hold is written anew before it is read.
  int64_t fastest() {
    int64_t best = -1, timed = 0;
    float least = FLT_MAX;
    for (int64_t i = 0; i < graph_->get_execution_plan_count() && timed < kMostTimed; ++i) {
      if (graph_->build_plan_at_index(stream_.cudnn(), i).is_bad()) continue;
      int64_t bytes = 0;
      if (graph_->get_workspace_size_plan_at_index(i, bytes).is_bad() || bytes > kMostWorkspace) continue;
      const float time = time_of(i, stream_.workspace(static_cast<size_t>(bytes)));
      ++timed;
      if (time >= least) continue;
      least = time;
      best = i;
    }
    if (best < 0) throw Error("UNSUPPORTED_OPERATOR", "convolution: cuDNN has no deterministic way to compute it on this GPU");
    return best;
  }

  float time_of(int64_t plan, void* workspace) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    float least = FLT_MAX;
    for (int i = 0; i <= kTimedRuns; ++i) {
      cudaEventRecord(begin, stream_.handle());
      if (graph_->execute_plan_at_index(stream_.cudnn(), pointers_, workspace, plan).is_bad()) break;
      cudaEventRecord(end, stream_.handle());
      check(cudaEventSynchronize(end), "convolution");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
      // The first one loads the code.
      if (i > 0) least = std::min(least, milliseconds);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return least;
  }

  CudaStream& stream_;
  std::shared_ptr<fe::graph::Graph> graph_;
  std::unordered_map<int64_t, void*> pointers_;
  int64_t plan_ = 0;
  void* workspace_ = nullptr;
};

std::shared_ptr<Convolution> convolution(Direction direction, const Tensor& x, const Tensor& w, const Tensor& y, const OperatorSpec& spec,
                                         bool tf32, CudaStream& stream) {
  return std::make_shared<Convolution>(direction, x, w, y, spec.attributes, tf32, stream);
}

MadeKernel weights_gradient(const OperatorSpec& spec, DeviceStream& stream, bool tf32) {
  auto& queue = static_cast<CudaStream&>(stream);
  const Tensor &x = spec.inputs[0], &gy = spec.inputs[1], &gw = spec.outputs[0], &gb = spec.outputs[1];
  auto* const partials = static_cast<float*>(spec.scratch);
  const auto bias = [&stream, gy, gb, partials] {
    if (gb) queue_bias_gradient(gy, gy.shape()[1], gb.as<float>(), partials, stream);
  };
  try {
    const auto gradient = convolution(Direction::weights, x, gw, gy, spec, tf32, queue);
    return queued([gradient, bias] {
      gradient->run();
      bias();
    });
  } catch (const Error& error) {
    if (error.code() != "UNSUPPORTED_OPERATOR" || spec.precision != Type::bf16) throw;
  }
  // Not every plan gives f32 from bf16: its own type first, into memory of the stream, then f32.
  Tensor narrow = gw;
  narrow.spec.type = Type::bf16;
  narrow.data = queue.workspace_beside(static_cast<size_t>(elements_of(gw.shape())) * size_of(Type::bf16));
  const auto gradient = convolution(Direction::weights, x, narrow, gy, spec, tf32, queue);
  const std::shared_ptr<Kernel> widen = make_reorder({"reorder", spec.name, {}, {narrow}, {gw}}, stream);
  return queued([gradient, widen, bias] {
    gradient->run();
    widen->run({});
    bias();
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
