#include "harness.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "cpu/reference/reference.h"
#include "cuda/host/host_backend.h"

namespace arbalest::stress {
namespace {

// Of a trial, which takes a second or two under the sanitizer.
constexpr std::chrono::seconds kPatience{120};

std::atomic<uint64_t> present_seed{0};

// Ends the process where a trial does not end.
class Watch {
 public:
  Watch() : thread_([this] { watch(); }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    expect(changed_.wait_for(lock, kPatience, [this] { return over_; }), "it hangs");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

void try_once(uint64_t seed) {
  present_seed = seed;
  const Watch watch;
  Chance chance(seed);
  // Streams that are threads, and calls that are done when they return.
  run(chance.one_in(2) ? *cuda::host_backend(0) : *reference_backend(), chance);
}

uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

}  // namespace

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s; again: --seed %llu\n", what.c_str(), static_cast<unsigned long long>(present_seed.load()));
  std::_Exit(1);
}

}  // namespace arbalest::stress

// ThreadSanitizer calls it for each race that it reports: the trial is not otherwise known.
extern "C" void __tsan_on_report(void*) {
  std::fprintf(stderr, "in a trial; again: --seed %llu\n", static_cast<unsigned long long>(arbalest::stress::present_seed.load()));
}

int main(int count, char** words) {
  using namespace arbalest;
  uint64_t seconds = 10;
  std::optional<uint64_t> seed;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::string_view(words[i]) == "--seconds") seconds = stress::number(words[i + 1]);
    if (std::string_view(words[i]) == "--seed") seed = stress::number(words[i + 1]);
  }
  const Clock::time_point start = Clock::now();
  uint64_t trials = 0;
  do {
    try {
      stress::try_once(seed ? *seed : static_cast<uint64_t>(start.time_since_epoch().count()) + trials);
    } catch (const std::exception& error) {
      stress::expect(false, error.what());
    }
    ++trials;
  } while (!seed && seconds_since(start) < static_cast<double>(seconds));
  std::printf("%llu trials\n", static_cast<unsigned long long>(trials));
  return 0;
}
