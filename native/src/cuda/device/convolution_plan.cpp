#include "cuda/device/convolution_plan.h"

#include <cfloat>
#include <map>
#include <mutex>

#include "core/clock.h"
#include "cuda/device/cudnn.h"
#include "cuda/device/plan_cache.h"
#include "cuda/device/recorded_time.h"
#include "cuda/device_backend.h"
#include "cuda/environment.h"

namespace arbalest::cuda {
namespace {

namespace fe = cudnn_frontend;

constexpr int64_t kMostWorkspace = int64_t{256} << 20;
// The number of plans that are timed, the first in the order of cuDNN's heuristics.
constexpr int64_t kMostTimed = 12;
// No more plans are built and timed after this time: some of them have to be compiled.
constexpr std::chrono::milliseconds kLongestSearch{500};

// ARBALEST_TUNE=0 takes the first plan that works: timing takes long for many shapes that are used once, or under a sanitizer.
bool tunes() { return !is_set("ARBALEST_TUNE", "0"); }

enum Uid : int64_t { kX = 1, kW = 2, kY = 3 };

fe::DataType_t type_of(Type type) { return type == Type::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::FLOAT; }

std::vector<int64_t> strides_of(const Shape& s) { return {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}; }

// (N, C, H, W) in dimension order, channels last in memory.
std::shared_ptr<fe::graph::Tensor_attributes> described(fe::graph::Graph& graph, const Tensor& tensor, Uid uid) {
  const Shape& s = tensor.shape();
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_dim({s[0], s[1], s[2], s[3]})
                          .set_stride(strides_of(s))
                          .set_data_type(type_of(tensor.spec.type))
                          .set_uid(uid));
}

void finish(const std::shared_ptr<fe::graph::Tensor_attributes>& output, const Tensor& tensor, Uid uid) {
  const Shape& s = tensor.shape();
  output->set_output(true)
      .set_dim({s[0], s[1], s[2], s[3]})
      .set_stride(strides_of(s))
      .set_data_type(type_of(tensor.spec.type))
      .set_uid(uid);
}

// Asked for once, because the driver takes milliseconds to answer.
std::string name_of_device() {
  static std::mutex mutex;
  static std::map<int, std::string> names;
  int device = 0;
  check(cudaGetDevice(&device), "device");
  const std::lock_guard lock(mutex);
  std::string& name = names[device];
  if (name.empty()) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "device");
    name = properties.name;
  }
  return name;
}

std::string key_of(const ConvolutionTensors& tensors, const Attributes& attributes, bool tf32) {
  std::string key = name_of_device() + " cudnn" + std::to_string(open_cudnn()) + " " + std::to_string(static_cast<int>(tensors.direction));
  for (const Tensor* tensor : {&tensors.x, &tensors.w, &tensors.y}) {
    key += tensor->spec.type == Type::bf16 ? " bf16" : tf32 ? " tf32" : " f32";
    for (int64_t extent : tensor->shape()) key += "," + std::to_string(extent);
  }
  for (const char* name : {"stride", "padding", "dilation"})
    for (double value : attributes.list(name, {})) key += " " + std::to_string(static_cast<int>(value));
  return key;
}

}  // namespace

std::shared_ptr<const ConvolutionPlan> ConvolutionPlan::of(const ConvolutionTensors& tensors, const Attributes& attributes, bool tf32,
                                                           CudaStream& stream) {
  const std::string key = key_of(tensors, attributes, tf32);
  std::shared_ptr<const ConvolutionPlan>& plan = stream.convolution_plan(key);
  if (!plan) plan = std::make_shared<const ConvolutionPlan>(tensors, window_of(attributes, 0, 0), tf32, key, stream);
  return plan;
}

ConvolutionPlan::Pointers ConvolutionPlan::pointers(const ConvolutionTensors& tensors) {
  return {{kX, tensors.x.data}, {kW, tensors.w.data}, {kY, tensors.y.data}};
}

ConvolutionPlan::ConvolutionPlan(const ConvolutionTensors& tensors, const Window& window, bool tf32, const std::string& key,
                                 CudaStream& stream)
    : stream_(stream) {
  build(tensors, window, tf32);
  choose(key, pointers(tensors));
  int64_t bytes = 0;
  check(graph_.get_workspace_size_plan_at_index(plan_, bytes), "convolution");
  workspace_ = stream_.workspace(static_cast<size_t>(bytes));
}

void ConvolutionPlan::run(Pointers& pointers) const {
  check(graph_.execute_plan_at_index(stream_.cudnn(), pointers, workspace_, plan_), "convolution");
}

void ConvolutionPlan::build(const ConvolutionTensors& tensors, const Window& window, bool tf32) {
  const auto& [direction, x, w, y] = tensors;
  const Type type = x.spec.type;
  graph_.set_io_data_type(type_of(type)).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  const auto options = [&](auto conv) {
    return conv.set_padding({window.padding[0], window.padding[1]})
        .set_stride({window.stride[0], window.stride[1]})
        .set_dilation({window.dilation[0], window.dilation[1]});
  };
  if (direction == Direction::forward)
    finish(graph_.conv_fprop(described(graph_, x, kX), described(graph_, w, kW), options(fe::graph::Conv_fprop_attributes())), y, kY);
  else if (direction == Direction::data)
    finish(graph_.conv_dgrad(described(graph_, y, kY), described(graph_, w, kW), options(fe::graph::Conv_dgrad_attributes())), x, kX);
  else
    finish(graph_.conv_wgrad(described(graph_, y, kY), described(graph_, x, kX), options(fe::graph::Conv_wgrad_attributes())), w, kW);
  check(graph_.validate(), "convolution");
  check(graph_.build_operation_graph(stream_.cudnn()), "convolution");
  check(graph_.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "convolution");
  // No engine whose bits differ from run to run, and none that rounds its inputs to fewer bits.
  graph_.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
  // f32 is computed in f32 unless TF32 is asked for.
  if (type == Type::f32 && !tf32) graph_.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
  graph_.deselect_workspace_greater_than(kMostWorkspace);
  check(graph_.check_support(), "convolution");
}

void ConvolutionPlan::choose(const std::string& key, Pointers pointers) {
  static PlanCache cache(PlanCache::default_file());
  if (const auto name = cache.find(key); name && take(*name)) return;
  // One thread at a time: plans that run together would disturb each other's times.
  static std::mutex one;
  const std::lock_guard lock(one);
  if (const auto name = cache.find(key); name && take(*name)) return;
  const Found found = fastest(pointers);
  plan_ = found.plan;
  // A plan for which memory was lacking may be faster: do not cache this choice.
  if (!tunes() || found.lacked_memory) return;
  std::string name;
  check(graph_.get_plan_name_at_index(plan_, name), "convolution");
  cache.keep(key, name);
}

bool ConvolutionPlan::take(const std::string& wanted) {
  for (int64_t i = 0; i < graph_.get_execution_plan_count(); ++i) {
    std::string name;
    if (graph_.get_plan_name_at_index(i, name).is_bad() || name != wanted) continue;
    if (graph_.build_plan_at_index(i).is_bad()) return false;
    plan_ = i;
    return true;
  }
  return false;
}

ConvolutionPlan::Found ConvolutionPlan::fastest(Pointers& pointers) {
  int64_t best = -1, timed = 0;
  float least = FLT_MAX;
  std::optional<Error> lacked;
  const Clock::time_point deadline = Clock::now() + kLongestSearch;
  for (int64_t i = 0; i < graph_.get_execution_plan_count() && timed < kMostTimed; ++i) {
    if (best >= 0 && (!tunes() || Clock::now() >= deadline)) break;
    if (auto built = graph_.build_plan_at_index(i); built.is_bad()) {
      if (const Error error = error_of(built, "convolution"); error.code() == "OUT_OF_MEMORY") lacked = error;
      continue;
    }
    int64_t bytes = 0;
    if (graph_.get_workspace_size_plan_at_index(i, bytes).is_bad() || bytes > kMostWorkspace) continue;
    std::optional<float> time;
    try {
      time = time_of(i, static_cast<size_t>(bytes), pointers);
    } catch (const Error& error) {
      // Another plan may need less memory.
      if (error.code() != "OUT_OF_MEMORY") throw;
      lacked = error;
    }
    if (!time) continue;
    ++timed;
    if (*time >= least) continue;
    least = *time;
    best = i;
  }
  if (best >= 0) return {best, lacked.has_value()};
  if (lacked) throw *lacked;
  throw Error("UNSUPPORTED_OPERATOR", "convolution: cuDNN has no deterministic way to compute it on this GPU");
}

// The time as a part of a recorded step, as the plan will run; none if it cannot be recorded.
std::optional<float> ConvolutionPlan::time_of(int64_t plan, size_t bytes, Pointers& pointers) {
  DeviceBackend& backend = stream_.backend();
  try {
    // A workspace of its own: the stream must not keep the workspace of a plan that is not chosen.
    const std::shared_ptr<void> workspace(bytes > 0 ? backend.allocate(bytes) : nullptr, [&](void* memory) {
      if (memory) backend.release(memory, bytes);
    });
    return milliseconds_recorded(
        stream_.handle(), [&] { check(graph_.execute_plan_at_index(stream_.cudnn(), pointers, workspace.get(), plan), "convolution"); });
  } catch (const Error& error) {
    if (error.code() != "UNSUPPORTED_OPERATOR") throw;
    return std::nullopt;
  }
}

}  // namespace arbalest::cuda
