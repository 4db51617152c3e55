#include "cuda/host/launches.h"

#include <map>
#include <mutex>

namespace arbalest::cuda {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, std::atomic<int64_t>> by_program;
};

Counts& counts() {
  // Never destroyed: when the process ends, streams of other threads may still be at work.
  static auto* const counts = new Counts;
  return *counts;
}

}  // namespace

std::atomic<int64_t>& launches_of(const char* program) {
  const std::lock_guard lock(counts().mutex);
  return counts().by_program[program];
}

std::string launches() {
  const std::lock_guard lock(counts().mutex);
  std::string list;
  for (const auto& [program, count] : counts().by_program)
    list += (list.empty() ? "\"" : ",\"") + program + "\":" + std::to_string(count.load());
  return "{" + list + "}";
}

}  // namespace arbalest::cuda
