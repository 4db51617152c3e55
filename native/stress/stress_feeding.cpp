// Learners that read batches of a stream, and feeders that make them. A learner may die, a feeder may be replaced in the middle of a batch,
// and a guess of the next batch may be wrong, but every learner gets the batch that it asked for.
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "data/batch_stream.h"
#include "harness.h"

namespace arbalest::stress {
namespace {

constexpr int64_t kSampleBytes = 8;
constexpr int32_t kClasses = 10;
constexpr std::chrono::milliseconds kTurn{2};

std::byte pixel(int64_t sample, int64_t at) { return static_cast<std::byte>(sample * 7 + at); }

// Which sample stands at a place of a batch.
int64_t sample_of(const BatchStream::Request& request, int64_t place) {
  return request.samples.empty() ? static_cast<int64_t>(request.position) + place : request.samples[static_cast<size_t>(place)];
}

class Feeder {
 public:
  Feeder(BatchStream& stream, uint64_t seed) : stream_(stream), chance_(seed) {
    stream_.watch([this] { wake(); });
    thread_ = std::thread([this] { feed(); });
  }
  // Another has been told to watch by then: this one is not woken any more.
  ~Feeder() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

  void feed() {
    while (true) {
      auto order = stream_.next(false);
      if (!order) order = stream_.next(true);
      std::unique_lock lock(mutex_);
      if (!order) changed_.wait_for(lock, kTurn, [this] { return woken_ || over_; });
      woken_ = false;
      // What it was about to make is given out anew.
      if (over_) return;
      lock.unlock();
      if (order) make(*order);
    }
  }

  void make(const BatchStream::Order& order) {
    const BatchStream::Request& request = order.request;
    std::vector<std::byte> samples;
    std::vector<int32_t> labels;
    for (int64_t place = 0; place < request.count; ++place) {
      const int64_t sample = sample_of(request, place);
      for (int64_t at = 0; at < kSampleBytes; ++at) samples.push_back(pixel(sample, at));
      labels.push_back(static_cast<int32_t>(sample % kClasses));
    }
    if (chance_.one_in(4)) std::this_thread::sleep_for(std::chrono::microseconds(chance_.between(0, 500)));
    stream_.feed(order.turn, samples, labels);
  }

  BatchStream& stream_;
  Chance chance_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false, over_ = false;
  std::thread thread_;
};

void expect_batch(const Dataset& batch, const BatchStream::Request& wish) {
  expect(batch.count == wish.count, "a batch has another number of samples than was asked for");
  for (int64_t place = 0; place < wish.count; ++place) {
    const int64_t sample = sample_of(wish, place);
    const auto at = static_cast<size_t>(place);
    const bool right = batch.labels[at] == sample % kClasses &&
                       static_cast<std::byte>(batch.samples[at * kSampleBytes + kSampleBytes - 1]) == pixel(sample, kSampleBytes - 1);
    expect(right, "a batch has other samples than were asked for");
  }
}

// `next` is where the learners are together.
void learn(const std::shared_ptr<BatchStream>& stream, std::atomic<uint64_t>& next, uint64_t seed, int batches) {
  Chance chance(seed);
  const StreamSpec& spec = stream->spec();
  while (batches > 0) {
    BatchStream::Reader reader(stream);
    for (int64_t left = chance.between(1, 30); left > 0 && batches > 0; --left, --batches) {
      const uint64_t here = next.fetch_add(static_cast<uint64_t>(spec.batch));
      BatchStream::Request wish{spec.until == StreamSpec::kEndless ? here : here % spec.until, spec.batch, {}};
      if (chance.one_in(6))
        for (int64_t place = 0; place < wish.count; ++place) wish.samples.push_back(chance.between(0, spec.count - 1));
      const std::atomic<bool> never{false}, cancelled{true};
      if (chance.one_in(10)) reader.take(wish, Clock::now(), cancelled);
      const Dataset* batch = nullptr;
      while (!batch) batch = reader.take(wish, Clock::now() + kTurn, never);
      expect_batch(*batch, wish);
      // Else it is given up with the reader, or with the next one that is taken.
      reader.release();
    }
  }
}

}  // namespace

void run(Backend&, Chance& chance) {
  StreamSpec spec;
  spec.count = 400;
  spec.kind.sample = {kSampleBytes};
  spec.kind.classes = kClasses;
  spec.batch = chance.between(1, 4);
  const int64_t learners = chance.between(1, 4);
  spec.slots = learners + chance.between(0, 4);
  if (chance.one_in(2)) spec.until = static_cast<uint64_t>(spec.batch) * 40;
  const auto stream = std::make_shared<BatchStream>(spec);
  const auto seed = [&] { return static_cast<uint64_t>(chance.between(0, 1 << 30)); };
  auto feeder = std::make_unique<Feeder>(*stream, seed());
  std::atomic<uint64_t> next{0};
  std::atomic<int64_t> learning{learners};
  std::vector<std::thread> threads;
  for (int64_t learner = 0; learner < learners; ++learner)
    threads.emplace_back([&, seed = seed()] {
      learn(stream, next, seed, 100);
      --learning;
    });
  while (learning > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(chance.between(1, 10)));
    stream->status();
    if (chance.one_in(3)) feeder = std::make_unique<Feeder>(*stream, seed());
  }
  for (std::thread& thread : threads) thread.join();
  expect(stream->status().taken == 0, "batches are still held when all learners have gone");
  stream->watch({});
}

}  // namespace arbalest::stress
