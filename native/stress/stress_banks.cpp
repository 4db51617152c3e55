// Learners of one company on the stand-in's streams, whose recordings run as one in banks: they come in their own time, late now and then,
// leave, and come again with a new recording. Each counts its steps in memory of its own, by a kernel, a library's kernel and a copy, and
// reads the count back to the host.
#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "cuda/host/host_backend.h"
#include "cuda/learner_bank.h"
#include "cuda/settings.h"
#include "device/parameter_vectors.h"
#include "harness.h"

namespace arbalest::stress {
namespace {

const Shape kImage{1, 1, 4, 4};
constexpr size_t kElements = 16;
constexpr size_t kBytes = kElements * sizeof(float);

class Learner {
 public:
  Learner(Backend& backend, const void* company, uint64_t seed)
      : backend_(backend), company_(company), chance_(seed), stream_(backend.stream()), used_(backend, stream_.get()) {
    const std::vector<float> ones(kElements, 1.0F);
    backend.write(one_.data(), ones.data(), kBytes);
    backend.write(weight_.data(), ones.data(), sizeof(float));
    // count + 1, times 1, and back.
    kernels_.push_back(kernel("add", {image(count_), image(one_)}, image(sum_)));
    kernels_.push_back(kernel("conv2d", {image(sum_), {{Type::f32, {1, 1, 1, 1}, std::string(kPlain)}, weight_.data()}}, image(product_)));
    kernels_.push_back(kernel("reshape", {image(product_)}, image(count_)));
  }

  void learn(int64_t steps) {
    for (; steps > 0; --steps) {
      if (!recording_ || chance_.one_in(40)) record();
      recording_->run();
      ++steps_;
      if (!chance_.one_in(4)) await_readback();
      if (chance_.one_in(4)) check();
      if (chance_.one_in(8)) std::this_thread::sleep_for(std::chrono::microseconds(chance_.between(1, 2000)));
    }
    check();
    recording_.reset();
    backend_.synchronise();
  }

 private:
  static TensorSpec spec() { return {Type::f32, kImage, std::string(kPlain)}; }
  Tensor image(Memory& memory) { return {spec(), memory.data()}; }
  std::unique_ptr<Kernel> kernel(const char* kind, std::vector<Tensor> inputs, const Tensor& output) {
    OperatorSpec op{kind, kind, {}, std::move(inputs), {output}};
    op.attributes.set("stride", {1, 1});
    op.attributes.set("padding", {0, 0});
    return backend_.make(op);
  }

  void record() {
    recording_.reset();
    recording_ = backend_.record_kernels(
        [this] {
          for (const auto& each : kernels_) each->run({});
          readback_->queue();
        },
        company_);
  }
  // A readback that has been missed is not asked for: the learner's next step may overwrite it.
  void await_readback() {
    readback_->await(static_cast<uint64_t>(steps_));
    expect(read_ == static_cast<float>(steps_),
           "a learner was told " + std::to_string(read_) + " of its " + std::to_string(steps_) + " steps");
  }
  void check() {
    std::vector<float> counts(kElements);
    backend_.read(counts.data(), count_.data(), kBytes);
    for (const float count : counts)
      expect(count == static_cast<float>(steps_),
             "a learner has counted " + std::to_string(count) + " of its " + std::to_string(steps_) + " steps");
  }

  Backend& backend_;
  const void* const company_;
  Chance chance_;
  const std::unique_ptr<Stream> stream_;
  const UsedStream used_;
  Memory count_{backend_, kBytes}, one_{backend_, kBytes}, sum_{backend_, kBytes}, product_{backend_, kBytes}, weight_{backend_, kBytes};
  float read_ = 0;
  const Reading reading_{&read_, count_.data(), sizeof read_};
  const std::unique_ptr<Readback> readback_ = backend_.readback({&reading_, 1});
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<Recording> recording_;
  int64_t steps_ = 0;
};

}  // namespace

void run(Backend&, Chance& chance) {
  Backend& backend = *cuda::host_backend(0);
  setenv("ARBALEST_CUDA_BANK", std::to_string(chance.between(2, 4)).c_str(), 1);
  cuda::read_settings();
  const int64_t learners = chance.between(1, 6), least = chance.between(1, 40), before = cuda::bank_report().steps;
  std::latch all_there(learners);
  std::vector<std::thread> threads;
  for (int64_t learner = 0; learner < learners; ++learner) {
    const auto seed = static_cast<uint64_t>(chance.between(0, 1 << 30));
    threads.emplace_back([&, seed, steps = least + chance.between(0, 20)] {
      Learner one(backend, &all_there, seed);
      all_there.arrive_and_wait();
      one.learn(steps);
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(learners == 1 || least < 30 || cuda::bank_report().steps > before, "no step was that of a bank");
}

}  // namespace arbalest::stress
