// arbalest-cuda-probe [NAME...]: what a GPU gives to many small learners, as one JSON object a line. Run it once with
// CUDA_DEVICE_MAX_CONNECTIONS=8 and once with 32: the number of hardware queues is fixed when the process begins. One that
// fails is {"probe": ..., "error": ...}; the others are made all the same, and the exit status is 1.
//
//   nodes     kernels a second of one CUDA graph of 1 to 32 parallel branches of small kernels
//   dependent the same of a chain in a stream, a graph, and a stream with programmatic dependent launch
//   split     microseconds a kernel of one CUDA graph of 32 branches whose kernels have different amounts of shared memory: as the driver
//             splits each kernel's from the L1 cache, and with one split for all. A multiprocessor may have to be empty to change it
//   body      microseconds of cuDNN's three convolutions at ResNet-32's stage shapes, batch 16, bf16, as captured graphs
//   grouped   k learners' convolutions as one of k groups, against k streams
//   average   microseconds in which the corrections of 1 to 32 replicas of ResNet-32 meet the central model, and in which their last steps
//             and that are one launch, as captured graphs; with the bytes that this moves. Again and again over the same vectors: as many
//             of them as fit are in the L2 cache
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/backend.h"

extern "C" arbalest::Backend* arbalest_backend(const char* name);

namespace {

using namespace arbalest;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw Error("DEVICE_FAILED", cudaGetErrorString(error));
}

std::string quoted(const std::string& words) {
  std::string json = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return json + '"';
}

// Measurements of which one that fails is told, and the others go on.
class Attempts {
 public:
  template <class Work> void operator()(const std::string& what, const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      failed_ = true;
      std::printf("{\"probe\":%s,\"error\":%s}\n", quoted(what).c_str(), quoted(error.what()).c_str());
      // An error that does not stay in the context would be told again by the next check.
      cudaGetLastError();
    }
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

// A stream of one probe: what has failed while it was recorded must not reach the next.
class OwnStream {
 public:
  OwnStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream_, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) {
      cudaGraph_t graph = nullptr;
      if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    }
    cudaStreamDestroy(stream_);
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// What the small kernels write, 128 floats a branch.
class SmallData {
 public:
  explicit SmallData(int branches) {
    const size_t bytes = static_cast<size_t>(branches) * 128 * sizeof(float);
    check(cudaMalloc(&data_, bytes));
    check(cudaMemset(data_, 0, bytes));
  }
  SmallData(const SmallData&) = delete;
  SmallData& operator=(const SmallData&) = delete;
  ~SmallData() { cudaFree(data_); }
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

// About a microsecond on one multiprocessor.
__global__ void small(float* data) {
  float value = data[threadIdx.x];
  for (int i = 0; i < 64; ++i) value = value * 1.0001f + 0.5f;
  data[threadIdx.x] = value;
}

// The same, allowed to begin before the kernel before it has ended.
__global__ void small_dependent(float* data) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
  float value = data[threadIdx.x];
  for (int i = 0; i < 64; ++i) value = value * 1.0001f + 0.5f;
  data[threadIdx.x] = value;
}

double seconds_of(const std::function<void()>& work, const std::function<void()>& wait, int runs = 20) {
  std::vector<double> times;
  work();
  wait();
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    wait();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<size_t>(runs) / 2];
}

// A graph of `count` branches of `length` kernels each; `launch(stream, branch, at)` queues one.
template <class Launch> cudaGraphExec_t branches(cudaStream_t stream, int count, int length, const Launch& launch) {
  std::vector<cudaStream_t> streams(static_cast<size_t>(count));
  std::vector<cudaEvent_t> ends(static_cast<size_t>(count));
  cudaEvent_t begin;
  check(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming));
  for (int b = 0; b < count; ++b) {
    check(cudaStreamCreateWithFlags(&streams[b], cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&ends[b], cudaEventDisableTiming));
  }
  // Its code is loaded when it first runs, which must not be while it is recorded.
  launch(stream, 0, 0);
  check(cudaStreamSynchronize(stream));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  check(cudaEventRecord(begin, stream));
  for (int b = 0; b < count; ++b) {
    check(cudaStreamWaitEvent(streams[b], begin, 0));
    for (int i = 0; i < length; ++i) launch(streams[b], b, i);
    check(cudaEventRecord(ends[b], streams[b]));
    check(cudaStreamWaitEvent(stream, ends[b], 0));
  }
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  return ready;
}

void probe_nodes() {
  const SmallData small_data(32);
  const OwnStream own;
  const cudaStream_t stream = own.get();
  constexpr int kLength = 100;
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  for (int count : {1, 2, 4, 8, 16, 32}) {
    const cudaGraphExec_t graph = branches(stream, count, kLength, [data = small_data.get()](cudaStream_t on, int branch, int) {
      small<<<1, 128, 0, on>>>(data + 128 * branch);
      check(cudaGetLastError());
    });
    const double seconds = seconds_of([&] { check(cudaGraphLaunch(graph, stream)); }, [&] { check(cudaStreamSynchronize(stream)); });
    std::printf("{\"probe\":\"nodes\",\"connections\":%s,\"branches\":%d,\"microsecondsANode\":%.3f,\"nodesASecond\":%.0f}\n",
                connections ? connections : "8", count, 1e6 * seconds / (kLength * count), kLength * count / seconds);
  }
}

// A block has its place, and its shared memory, for about five microseconds, and leaves all else to others.
__global__ void holding() { __nanosleep(5000); }

void probe_split() {
  const OwnStream own;
  const cudaStream_t stream = own.get();
  constexpr int kBranches = 32, kLength = 50, kBlocks = 32;
  // About those of the kernels of ResNet-32's step.
  constexpr int kShared[] = {0, 4 << 10, 20 << 10, 40 << 10, 86 << 10};
  constexpr int kSizes = sizeof kShared / sizeof *kShared;
  const auto set = [](cudaFuncAttribute attribute, int value) { check(cudaFuncSetAttribute(holding, attribute, value)); };
  set(cudaFuncAttributeMaxDynamicSharedMemorySize, kShared[kSizes - 1]);
  for (const auto& [name, carveout] :
       {std::pair{"the driver's", cudaSharedmemCarveoutDefault}, std::pair{"one for all", cudaSharedmemCarveoutMaxShared}}) {
    set(cudaFuncAttributePreferredSharedMemoryCarveout, carveout);
    const cudaGraphExec_t graph = branches(stream, kBranches, kLength, [&](cudaStream_t on, int branch, int at) {
      holding<<<kBlocks, 256, kShared[(branch + at) % kSizes], on>>>();
      check(cudaGetLastError());
    });
    const double seconds = seconds_of([&] { check(cudaGraphLaunch(graph, stream)); }, [&] { check(cudaStreamSynchronize(stream)); });
    std::printf("{\"probe\":\"split\",\"split\":\"%s\",\"microsecondsANode\":%.3f}\n", name, 1e6 * seconds / (kBranches * kLength));
  }
}

void launch_dependent(cudaStream_t stream, float* data) {
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 128;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, small_dependent, data));
}

void probe_dependent() {
  const SmallData small_data(1);
  const OwnStream own;
  const cudaStream_t stream = own.get();
  float* const data = small_data.get();
  constexpr int kLength = 400;
  const auto wait = [&] { check(cudaStreamSynchronize(stream)); };
  const auto plain = [&] {
    for (int i = 0; i < kLength; ++i) small<<<1, 128, 0, stream>>>(data);
    check(cudaGetLastError());
  };
  const auto dependent = [&] {
    for (int i = 0; i < kLength; ++i) launch_dependent(stream, data);
  };
  const auto captured = [&](const std::function<void()>& work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work();
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&ready, graph, 0));
    return seconds_of([&] { check(cudaGraphLaunch(ready, stream)); }, wait);
  };
  const double times[] = {seconds_of(plain, wait), seconds_of(dependent, wait), captured(plain), captured(dependent)};
  const char* names[] = {"stream", "stream, dependent", "graph", "graph, dependent"};
  for (int i = 0; i < 4; ++i)
    std::printf("{\"probe\":\"dependent\",\"chain\":\"%s\",\"microsecondsANode\":%.3f}\n", names[i], 1e6 * times[i] / kLength);
}

// An operator of the backend with memory of its own.
class Operator {
 public:
  Operator(Backend& backend, const char* kind, std::vector<Tensor> inputs, std::vector<Tensor> outputs, int groups) : backend_(backend) {
    OperatorSpec spec;
    spec.kind = spec.name = kind;
    spec.precision = Type::bf16;
    spec.attributes.set("stride", {1, 1});
    spec.attributes.set("padding", {1, 1});
    spec.attributes.set("groups", {static_cast<double>(groups)});
    for (auto* tensors : {&inputs, &outputs})
      for (Tensor& tensor : *tensors)
        if (!tensor.spec.shape.empty()) tensor.data = backend.allocate(backend.bytes(tensor.spec));
    spec.inputs = std::move(inputs);
    spec.outputs = std::move(outputs);
    kernel_ = backend.make(spec);
    kernel_->run({});
    backend.synchronise();
    recording_ = backend.record_kernels(
        [this] {
          for (int i = 0; i < kRuns; ++i) kernel_->run({});
        },
        nullptr);
  }
  void run() { recording_->run(); }
  static constexpr int kRuns = 50;

 private:
  Backend& backend_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Recording> recording_;
};

Tensor image(int64_t n, int64_t c, int64_t side) { return {{Type::bf16, {n, c, side, side}, "nhwc"}, nullptr}; }
Tensor filters(int64_t o, int64_t c, Type type) { return {{type, {o, c, 3, 3}, "ohwi"}, nullptr}; }

std::unique_ptr<Operator> convolution(Backend& backend, const char* kind, int64_t c, int64_t side, int groups) {
  const Tensor x = image(16, c * groups, side), w = filters(c * groups, c, Type::bf16), gw = filters(c * groups, c, Type::bf16);
  if (std::string(kind) == "conv2d") return std::make_unique<Operator>(backend, kind, std::vector{x, w, Tensor{}}, std::vector{x}, groups);
  if (std::string(kind) == "conv2dBackwardData")
    return std::make_unique<Operator>(backend, kind, std::vector{x, w}, std::vector{x}, groups);
  return std::make_unique<Operator>(backend, kind, std::vector{x, x}, std::vector{gw, Tensor{}}, groups);
}

constexpr const char* kKinds[] = {"conv2d", "conv2dBackwardData", "conv2dBackwardWeights"};
constexpr int64_t kStages[][2] = {{16, 32}, {32, 16}, {64, 8}};

void probe_body(Backend& backend, Attempts& attempt) {
  const auto stream = backend.stream();
  const UsedStream used(backend, stream.get());
  for (const auto& [channels, side] : kStages) {
    for (const char* kind : kKinds)
      attempt(std::string("body ") + kind, [&] {
        const auto op = convolution(backend, kind, channels, side, 1);
        const double seconds = seconds_of([&] { op->run(); }, [&] { backend.synchronise(); });
        std::printf("{\"probe\":\"body\",\"kind\":\"%s\",\"channels\":%ld,\"side\":%ld,\"microseconds\":%.2f}\n", kind,
                    static_cast<long>(channels), static_cast<long>(side), 1e6 * seconds / Operator::kRuns);
      });
  }
}

void probe_grouped(Backend& backend, Attempts& attempt) {
  for (const auto& [channels, side] : kStages) {
    for (int learners : {2, 4, 8}) {
      for (const char* kind : kKinds)
        attempt(std::string("grouped ") + kind, [&] {
          double grouped = -1;
          attempt(std::string("grouped ") + kind + " as one", [&] {
            const auto stream = backend.stream();
            const UsedStream used(backend, stream.get());
            const auto op = convolution(backend, kind, channels, side, learners);
            grouped = seconds_of([&] { op->run(); }, [&] { backend.synchronise(); });
          });
          std::vector<std::unique_ptr<Stream>> streams;
          std::vector<std::unique_ptr<Operator>> operators;
          for (int k = 0; k < learners; ++k) {
            streams.push_back(backend.stream());
            const UsedStream used(backend, streams.back().get());
            operators.push_back(convolution(backend, kind, channels, side, 1));
          }
          const auto all = [&](const std::function<void(size_t)>& each) {
            for (size_t k = 0; k < streams.size(); ++k) {
              const UsedStream used(backend, streams[k].get());
              each(k);
            }
          };
          const double apart =
              seconds_of([&] { all([&](size_t k) { operators[k]->run(); }); }, [&] { all([&](size_t) { backend.synchronise(); }); });
          std::printf(
              "{\"probe\":\"grouped\",\"kind\":\"%s\",\"channels\":%ld,\"learners\":%d,\"groupedMicroseconds\":%.2f,"
              "\"streamsMicroseconds\":%"
              ".2f}\n",
              kind, static_cast<long>(channels), learners, 1e6 * grouped / Operator::kRuns, 1e6 * apart / Operator::kRuns);
          operators.clear();
        });
    }
  }
}

// Rounds of synchronous model averaging, over vectors of zeros.
void probe_average(Backend& backend) {
  constexpr size_t kParameters = 464160;  // ResNet-32 for ten classes, rounded up
  constexpr int kRuns = 50;
  const auto stream = backend.stream();
  const UsedStream used(backend, stream.get());
  const auto vector = [&] { return backend.allocate(kParameters * sizeof(float)); };
  AveragePass sum;
  sum.end = kParameters;
  sum.base = vector();
  sum.to = vector();
  std::vector<OptimiserPass> steps;
  std::vector<const void*> corrections;
  const auto microseconds = [&](const std::function<void()>& work) {
    work();
    backend.synchronise();
    const auto recording = backend.record_kernels(
        [&] {
          for (int i = 0; i < kRuns; ++i) work();
        },
        nullptr);
    return 1e6 / kRuns * seconds_of([&] { recording->run(); }, [&] { backend.synchronise(); });
  };
  for (int learners = 1; learners <= 32; learners *= 2) {
    while (steps.size() < static_cast<size_t>(learners)) {
      OptimiserPass step;
      step.end = kParameters;
      step.weights = step.next = vector();
      step.gradients = vector();
      step.first = vector();
      step.rate = 0.1;
      step.momentum = 0.9;
      step.contribution_kind = OptimiserPass::ContributionKind::correction;
      step.central = sum.base;
      step.contribution = vector();
      step.alpha = 1.0 / learners;
      corrections.push_back(step.contribution);
      steps.push_back(step);
    }
    sum.summands = corrections;
    const double average = microseconds([&] { backend.average(sum); });
    const double apart = microseconds([&] {
      for (const OptimiserPass& step : steps) backend.optimise(step);
      backend.average(sum);
    });
    const double together = microseconds([&] { backend.optimise_and_average(steps, sum); });
    const double vectors = 4.0 * kParameters;
    std::printf(
        "{\"probe\":\"average\",\"learners\":%d,\"parameters\":%zu,\"averageMicroseconds\":%.2f,\"averageBytes\":%.0f,"
        "\"stepsAndAverageMicroseconds\":%.2f,\"togetherMicroseconds\":%.2f,\"togetherBytes\":%.0f}\n",
        learners, kParameters, average, (learners + 2) * vectors, apart, together, (5 * learners + 2) * vectors);
  }
}

}  // namespace

int main(int count, char** words) {
  // A line a measurement, also where it ends before its time.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::string> asked(words + 1, words + count);
  const std::vector<std::string> known{"nodes", "dependent", "split", "average", "body", "grouped"};
  for (const std::string& each : asked) {
    if (std::find(known.begin(), known.end(), each) != known.end()) continue;
    std::fprintf(stderr, "arbalest-cuda-probe: received %s; use any of nodes, dependent, split, average, body, grouped\n", each.c_str());
    return 2;
  }
  const auto wanted = [&](const char* name) { return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end(); };
  Attempts attempt;
  const auto probe = [&](const char* name, const std::function<void()>& work) {
    if (wanted(name)) attempt(name, work);
  };
  const auto backend = []() -> Backend& { return *arbalest_backend("cuda"); };
  probe("nodes", probe_nodes);
  probe("dependent", probe_dependent);
  probe("split", probe_split);
  probe("average", [&] { probe_average(backend()); });
  probe("body", [&] { probe_body(backend(), attempt); });
  probe("grouped", [&] { probe_grouped(backend(), attempt); });
  return attempt.failed() ? 1 : 0;
}
