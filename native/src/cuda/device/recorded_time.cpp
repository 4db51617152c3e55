#include "cuda/device/recorded_time.h"

#include <algorithm>

#include "cuda/device/cuda_graph.h"

namespace arbalest::cuda {
namespace {

// The most runs that are recorded, and about the longest time that they may take.
constexpr int kMostRuns = 20;
constexpr float kMilliseconds = 2;
constexpr int kMeasured = 3;

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  template <class Work> float milliseconds(const Work& work) {
    check(cudaEventRecord(begin_, stream_), "event");
    work();
    check(cudaEventRecord(end_, stream_), "event");
    check(cudaEventSynchronize(end_), "event");
    float result = 0;
    check(cudaEventElapsedTime(&result, begin_, end_), "event");
    return result;
  }

 private:
  const cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

float milliseconds_recorded(cudaStream_t stream, const std::function<void()>& work) {
  Stopwatch watch(stream);
  // The first one loads the code.
  watch.milliseconds(work);
  const float once = watch.milliseconds(work);
  const int runs = std::clamp(static_cast<int>(kMilliseconds / std::max(once, 1e-3f)), 1, kMostRuns);
  CudaGraph graph(stream, [&] {
    for (int i = 0; i < runs; ++i) work();
  });
  float least = watch.milliseconds([&] { graph.run(); });
  for (int i = 0; i < kMeasured; ++i) least = std::min(least, watch.milliseconds([&] { graph.run(); }));
  return least / static_cast<float>(runs);
}

}  // namespace arbalest::cuda
