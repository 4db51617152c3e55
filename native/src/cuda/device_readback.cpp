#include "cuda/device_readback.h"

#include <sys/prctl.h>

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
// By default the system wakes a thread up to 50 microseconds late, so as to wake several at once.
constexpr auto kLate = 1us;
// Between two questions whether the device still works on it.
constexpr auto kTrusting = 10ms;

std::vector<Reading> checked(std::span<const Reading> readings) {
  if (readings.size() > Readback::kMost)
    throw Error("INTERNAL", "readback: received " + std::to_string(readings.size()) + " readings; it takes up to " +
                                std::to_string(Readback::kMost) + "; report this");
  return {readings.begin(), readings.end()};
}

}  // namespace

DeviceReadback::DeviceReadback(DeviceStream& stream, std::span<const Reading> readings)
    : stream_(stream),
      backend_(stream.backend()),
      readings_(checked(readings)),
      memory_(backend_.host_memory(sizeof(ReadValues))),
      values_(*new (memory_.get()) ReadValues),
      made_(static_cast<uint64_t*>(backend_.allocate(sizeof(uint64_t)))) {}

DeviceReadback::~DeviceReadback() { backend_.release(made_, sizeof(uint64_t)); }

void DeviceReadback::queue() {
  ReadBack kernel{{}, {}, static_cast<uint64_t*>(backend_.seen(made_)), &values_};
  for (size_t i = 0; i < readings_.size(); ++i) {
    kernel.from[i] = static_cast<const uint32_t*>(backend_.seen(readings_[i].from));
    kernel.words[i] = static_cast<int>(readings_[i].bytes / sizeof(uint32_t));
  }
  queue_read_back(kernel, stream_);
}

uint64_t DeviceReadback::arrived() const { return std::atomic_ref(values_.number).load(std::memory_order_acquire); }

void DeviceReadback::await(uint64_t number) {
  thread_local const int punctual = prctl(PR_SET_TIMERSLACK, std::chrono::nanoseconds(kLate).count());
  (void)punctual;
  const Clock::time_point begin = Clock::now();
  Clock::time_point asked = begin;
  while (arrived() < number) {
    const Clock::time_point now = Clock::now();
    if (now - begin < kAttentive) {
      std::this_thread::yield();
      continue;
    }
    if (now - asked > kTrusting) {
      asked = now;
      if (backend_.is_idle() && arrived() < number)
        throw Error("INTERNAL", "readback: the device has done all its work without readback " + std::to_string(number) + "; report this");
    }
    std::this_thread::sleep_for(kNap);
  }
  for (size_t i = 0; i < readings_.size(); ++i) std::memcpy(readings_[i].to, values_.values[i], readings_[i].bytes);
}

}  // namespace arbalest::cuda
