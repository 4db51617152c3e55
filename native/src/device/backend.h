// The one interface between the engine and what computes: the CPU backends today, CUDA next. A backend says how it would run an
// operator (lower), makes it ready over placed buffers (make), and runs the passes over parameter vectors (optimise, average, blend,
// squares).
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/attributes.h"
#include "core/error.h"
#include "core/tensor.h"
#include "data/dataset.h"
#include "device/collective.h"
#include "device/stream.h"

namespace arbalest {

struct LoweringRequest {
  std::string kind;
  Attributes attributes;
  std::vector<TensorSpec> inputs, outputs;  // an absent one has an empty shape
  Type precision = Type::f32;
  int threads = 1;  // that will run it: how much scratch it wants may depend on them, and nothing else does
};

struct LoweringAnswer {
  std::vector<TensorSpec> inputs, outputs;  // as the backend takes and gives them, layouts named
  size_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> in_place;  // (output, input)
  std::string implementation;
};

// One operator over placed buffers, shapes and element types already checked against `lower`'s answer.
struct OperatorSpec {
  std::string kind, name;
  Attributes attributes;
  std::vector<Tensor> inputs, outputs;
  void* scratch = nullptr;
  size_t scratch_bytes = 0;
  Type precision = Type::f32;
  const Dataset* dataset = nullptr;  // what `load` gathers from; null: from what streams in, batch by batch
};

// What changes from step to step.
struct StepContext {
  const Dataset* dataset = nullptr;
  uint64_t seed = 0;
  // Where this batch begins in the endless sequence of epochs: sample i of the batch stands at position + i. Order, crops, flips and
  // dropout masks are functions of (seed, position), so that no learner and no resumed run needs more than this one number.
  uint64_t position = 0;
  // Samples (batch) that the learner chose itself; empty: those that stand at the position.
  std::span<const int64_t> samples;
};

// An operator made ready: primitives built once, pointers fixed. Never allocates in run().
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const StepContext& step) = 0;
};

// Elements [begin, end) of one step of an optimiser, from gradients G and weights w:
//   g = clamp(scale*G, -limit, limit) + decay*w
//   sgd:  v = momentum*v + g (g alone where `first` is null);  s = rate*(nesterov ? g + momentum*v : v)
//   adam: m = beta1*m + (1 - beta1)*g;  q = beta2*q + (1 - beta2)*g*g
//         s = rate*(m / bias1) / (sqrt(q / bias2) + epsilon) + rate*decoupled*w
//   next = w - s, and less its correction where there is one
struct OptimiserPass {
  enum class Algorithm : uint8_t { sgd, adam };
  // What else is written, to `contribution`, for the learners' group.
  enum class Meeting : uint8_t {
    none,
    correction,    // c = alpha*(w + ahead*v - central), v that before the step; it is also taken from `next`
    snapshot,      // `next`
    accumulation,  // what was there, and s
  };

  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* weights = nullptr;
  void* next = nullptr;  // may be the weights
  const void* gradients = nullptr;
  void* first = nullptr;   // v, or m
  void* second = nullptr;  // q
  Algorithm algorithm = Algorithm::sgd;
  double rate = 0, scale = 1, limit = std::numeric_limits<double>::infinity(), decay = 0, decoupled = 0;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0, beta2 = 0, epsilon = 0, bias1 = 1, bias2 = 1;

  Meeting meeting = Meeting::none;
  const void* central = nullptr;
  void* contribution = nullptr;
  double alpha = 0, ahead = 0;
};

// Elements [begin, end): to = base + scale*sum_j x_j + mu*(base - to), the sum in the order of `summands`. Without a base the first and
// last terms are left out; `to` is read only where mu is not 0, and may be the base or a summand.
struct AveragePass {
  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* base = nullptr;
  void* to = nullptr;
  std::span<const void* const> summands;
  double scale = 1, mu = 0;
};

// Elements [begin, end): to = from + weight*(towards - from); `to` may be either. The weights 0 and 1 copy exactly.
struct BlendPass {
  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* from = nullptr;
  const void* towards = nullptr;
  void* to = nullptr;
  double weight = 0;
};

// Elements [begin, end) of a vector.
struct VectorPart {
  const void* vector = nullptr;
  size_t begin = 0, end = 0;
};

// So many bytes of the backend's memory, to the caller's.
struct Reading {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
};

inline constexpr int kMostDevices = 1024;

// All of it may be called by many threads at once; a kernel by one at a time.
class Backend {
 public:
  virtual ~Backend() = default;

  // How many devices compute as this one does, itself among them. Cores have one memory, and however they are grouped one backend.
  virtual int device_count() { return kMostDevices; }
  // The backend of one of them, from 0 to below their number, made when it is first asked for; each has memory and queues of its own.
  virtual Backend& device(int) { return *this; }
  // Of the first so many of them, a rank each. Null where they have one memory. Throws BACKEND_UNAVAILABLE where what makes the sums is
  // missing.
  virtual std::unique_ptr<Collective> collective(int) { return nullptr; }

  virtual LoweringAnswer lower(const LoweringRequest& request) = 0;
  virtual size_t bytes(const TensorSpec& spec) = 0;
  virtual std::unique_ptr<Kernel> make(const OperatorSpec& spec) = 0;
  // The same tensor in another layout or element type; padding lanes of `to` become zero. Not for the hot path.
  virtual void reorder(const Tensor& from, const Tensor& to) = 0;

  virtual void optimise(const OptimiserPass& pass) = 0;
  virtual void average(const AveragePass& pass) = 0;
  // A step of several learners and the sum of the corrections that they make, `sum.summands`: `optimise` and `average` in one. All passes
  // are over the same elements. Corrections that nothing else reads may be left unwritten.
  virtual void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) {
    for (const OptimiserPass& step : steps) optimise(step);
    average(sum);
  }
  virtual void blend(const BlendPass& pass) = 0;
  // sums[i]: of the squares of the elements of parts[i], the same whatever the number of threads. Done when the call returns.
  virtual void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) = 0;

  // Zeroed memory, aligned to 64 bytes at least, touched lazily. Throws OUT_OF_MEMORY.
  virtual void* allocate(size_t bytes) = 0;
  // All that was queued on it is done.
  virtual void release(void* memory, size_t bytes) noexcept = 0;
  // So much is kept ready in one piece, of which allocate() takes before it turns to the driver, whose allocations may hold up all that the
  // device does. For devices with memory of their own. Throws OUT_OF_MEMORY.
  virtual void reserve(size_t) {}
  // Bytes that may still be taken, where they are the device's own; none where they are the machine's. What is reserved may be taken, too.
  virtual std::optional<size_t> free_memory() { return std::nullopt; }

  // Sustained floating-point operations a second of one thread's fused multiply-adds; takes about 100 ms.
  virtual double measure_peak() = 0;

  // The calling thread will run kernels with so many threads from here on.
  virtual void use_threads(int threads) = 0;

  // A device with memory and queues of its own. The calling thread's work goes to the stream that it uses: kernels are made for it, and the
  // passes, copies and events are queued on it. What stands here is for memory that the caller may touch, where all is done when a call
  // returns, and which has no streams.
  virtual std::unique_ptr<Stream> stream() { return nullptr; }
  // Returns the stream that was used before.
  virtual Stream* use_stream(Stream*) noexcept { return nullptr; }
  // Between two places of the backend's memory.
  virtual void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void zero(void* to, size_t bytes) { std::memset(to, 0, bytes); }
  // Between the caller's memory and the backend's, after what was queued before; done when the call returns.
  virtual void read(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  virtual void write(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  // A few bytes each, with one wait for all.
  virtual void read_together(std::span<const Reading> readings) {
    for (const Reading& reading : readings) read(reading.to, reading.from, reading.bytes);
  }
  virtual std::shared_ptr<Event> record() { return nullptr; }
  // What is queued from here on runs after `event`; the caller does not wait.
  virtual void wait(const std::shared_ptr<Event>&) {}
  // The caller waits until all is done. Throws what went wrong on the device since it was asked last.
  virtual void synchronise() {}
  // The kernels run from here on read this step's position, seed and samples.
  virtual void begin(const StepContext&) {}
  // What streamed in for the step that has begun: a copy, which the kernels of `load` read that were made without a data set. Here they
  // read what the context names.
  virtual void bring(const Dataset&) {}
  // `work` queues kernels and nothing else. It is recorded, to be run again and again at the cost of one; null where nothing is gained by
  // that.
  virtual std::unique_ptr<Recording> capture(const std::function<void()>&) { return nullptr; }
  // Elements that a pass takes at once where threads share it out: small enough to stay in a core's cache.
  virtual size_t piece() const { return 16384; }
};

// While it lives, the calling thread's work goes to `stream`.
class UsedStream {
 public:
  UsedStream(Backend& backend, Stream* stream) : backend_(backend), before_(backend.use_stream(stream)) {}
  ~UsedStream() { backend_.use_stream(before_); }
  UsedStream(const UsedStream&) = delete;
  UsedStream& operator=(const UsedStream&) = delete;

 private:
  Backend& backend_;
  Stream* const before_;
};

}  // namespace arbalest

// What a backend library exports: `name` is "cpu" or "reference" in the CPU library. The backend is that of the first device, and lives as
// long as the process. Both throw BACKEND_UNAVAILABLE where what the library itself needs is missing.
extern "C" {
using ArbalestBackendEntry = arbalest::Backend* (*)(const char* name);
using ArbalestBackendInterface = const char* (*)();  // a hash of this file and of all that it includes, as they were when it was built
using ArbalestBackendAbout = const char* (*)();      // one line of JSON: library versions and features of the device, for `arbalest doctor`
}
