#include "transport/collective_level.h"

#include <algorithm>
#include <thread>

#include "core/clock.h"

namespace arbalest {
namespace {

// The longest that sums under way at the end may take; on healthy devices they take milliseconds.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kSlice{1};

}  // namespace

CollectiveLevel::CollectiveLevel(Backend& backend, std::unique_ptr<Collective> collective, Type type, size_t bytes, int devices)
    : Level(backend, devices), collective_(std::move(collective)), type_(type) {
  for (size_t device = 0; device < streams().devices(); ++device) sums_.emplace_back(streams().backend(device), bytes);
}

std::unique_ptr<Level::Request> CollectiveLevel::start(BucketReduction reduction) {
  auto request = std::make_unique<Request>();
  auto& [round, bucket, range, parts] = reduction;
  const std::vector<int> present = ranks_in(round);
  const size_t from = range.begin * size_of(type_), bytes = (range.end - range.begin) * size_of(type_);
  int64_t learners = 0;
  for (int device : present) learners += parts[static_cast<size_t>(device)].learners;
  std::vector<Collective::Place> places;
  for (size_t device = 0; device < parts.size() && learners > 0; ++device) {
    std::byte* const to = sums_[device].data() + from;
    const bool brings = parts[device].learners > 0 && std::ranges::count(present, static_cast<int>(device)) > 0;
    if (!brings) {
      const UsedStream used = streams().use(device);
      streams().backend(device).zero(to, bytes);
    }
    places.push_back({brings ? parts[device].vector + from : to, to, streams().stream(device)});
  }
  if (learners > 0) collective_->all_reduce(type_, range.end - range.begin, places);
  for (size_t device = 0; device < parts.size(); ++device)
    parts[device] = learners > 0 ? PartialSum{sums_[device].data(), learners} : PartialSum{};
  last_.clear();
  for (size_t device = 0; device < parts.size(); ++device) {
    const UsedStream used = streams().use(device);
    last_.push_back(streams().backend(device).mark());
  }
  request->reduction = std::move(reduction);
  return request;
}

bool CollectiveLevel::wait(Request&, const std::atomic<bool>& called) {
  check();
  return !called;
}

bool CollectiveLevel::is_at_work() {
  if (std::ranges::all_of(last_, [](const auto& event) { return event->reached(); })) return false;
  check();
  return true;
}

void CollectiveLevel::check() {
  try {
    collective_->check();
  } catch (...) {
    collective_->give_up();
    throw;
  }
}

void CollectiveLevel::end() noexcept {
  try {
    const Clock::time_point latest = Clock::now() + kPatience;
    while (is_at_work()) {
      if (Clock::now() >= latest) return collective_->give_up();
      std::this_thread::sleep_for(kSlice);
    }
  } catch (...) {
    // The replicas on these devices throw the same fault.
    collective_->give_up();
  }
}

}  // namespace arbalest
