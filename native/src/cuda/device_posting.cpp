#include "cuda/device_posting.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "cuda/device_backend.h"

namespace arbalest::cuda {
namespace {

using namespace std::chrono_literals;

// A learner's thread looks all the time at first, and then now and then: there may be more learners than cores. What it is late by costs
// nothing, as the device works on meanwhile.
constexpr auto kAttentive = 50us, kNap = 20us;
// Between two questions whether the device still works on it.
constexpr auto kTrusting = 10ms;

}  // namespace

DevicePosting::DevicePosting(DeviceStream& stream, std::span<const Reading> readings)
    : stream_(stream),
      backend_(stream.backend()),
      readings_(readings.begin(), readings.end()),
      memory_(backend_.host_memory(sizeof(Posted))),
      posted_(*new (memory_.get()) Posted),
      posts_(static_cast<uint64_t*>(backend_.allocate(sizeof(uint64_t)))) {
  if (readings.size() > kMost) throw Error("INTERNAL", "posting: received too many readings; report this");
}

DevicePosting::~DevicePosting() { backend_.release(posts_, sizeof(uint64_t)); }

void DevicePosting::queue() {
  Post post{{}, {}, static_cast<uint64_t*>(backend_.seen(posts_)), &posted_};
  for (size_t i = 0; i < readings_.size(); ++i) {
    post.from[i] = static_cast<const uint32_t*>(backend_.seen(readings_[i].from));
    post.words[i] = static_cast<int>(readings_[i].bytes / sizeof(uint32_t));
  }
  queue_post(post, stream_);
}

uint64_t DevicePosting::posts() const { return std::atomic_ref(posted_.number).load(std::memory_order_acquire); }

void DevicePosting::await(uint64_t number) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point asked = begin;
  while (posts() < number) {
    const Clock::time_point now = Clock::now();
    if (now - begin < kAttentive) {
      std::this_thread::yield();
      continue;
    }
    if (now - asked > kTrusting) {
      asked = now;
      if (backend_.is_idle() && posts() < number)
        throw Error("INTERNAL", "posting: the device has done all its work without post " + std::to_string(number) + "; report this");
    }
    std::this_thread::sleep_for(kNap);
  }
  for (size_t i = 0; i < readings_.size(); ++i) std::memcpy(readings_[i].to, posted_.values[i], readings_[i].bytes);
}

}  // namespace arbalest::cuda
