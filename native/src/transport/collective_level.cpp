#include "transport/collective_level.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>

#include "core/clock.h"

namespace arbalest {
namespace {

// The longest that sums under way at the end may take; on healthy devices they take milliseconds.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kSlice{1};

// False where it does not within that time.
template <class Condition> bool comes_true(const Condition& condition) {
  for (const Clock::time_point latest = Clock::now() + kPatience; !condition(); std::this_thread::sleep_for(kSlice))
    if (Clock::now() >= latest) return false;
  return true;
}

}  // namespace

CollectiveLevel::CollectiveLevel(Backend& backend, std::unique_ptr<Collective> collective, std::unique_ptr<HostGather> counts, Type type,
                                 size_t bytes, int devices)
    : Level(backend, devices), collective_(std::move(collective)), counts_(std::move(counts)), type_(type) {
  for (size_t device = 0; device < streams().devices(); ++device) sums_.emplace_back(streams().backend(device), bytes);
}

std::unique_ptr<Level::Request> CollectiveLevel::start(BucketReduction reduction) {
  auto request = std::make_unique<Begun>();
  const Bucket& range = reduction.range;
  std::vector<PartialSum>& parts = reduction.parts;
  const std::vector<int> present = ranks_in(reduction.round);
  // Which devices of other hosts take part, only their counts say.
  const auto brings = [&](size_t device) {
    return parts[device].learners > 0 && (counts_ || std::ranges::count(present, static_cast<int>(device)) > 0);
  };
  const size_t from = range.begin * size_of(type_), bytes = (range.end - range.begin) * size_of(type_);
  int64_t learners = 0;
  for (size_t device = 0; device < parts.size(); ++device)
    if (brings(device)) learners += parts[device].learners;
  const bool sums = learners > 0 || counts_;
  std::vector<Collective::Place> places;
  for (size_t device = 0; device < parts.size() && sums; ++device) {
    std::byte* const to = sums_[device].data() + from;
    if (!brings(device)) {
      const UsedStream used = streams().use(device);
      streams().backend(device).zero(to, bytes);
    }
    places.push_back({brings(device) ? parts[device].vector + from : to, to, streams().stream(device)});
  }
  if (counts_) request->counts = counts_->begin(std::as_bytes(std::span(&learners, 1)));
  if (sums) queue_sum(range.end - range.begin, places);
  for (size_t device = 0; device < parts.size(); ++device) parts[device] = sums ? PartialSum{sums_[device].data(), learners} : PartialSum{};
  mark_last();
  request->reduction = std::move(reduction);
  return request;
}

// Where it fails, some devices may have their part of the sum in their streams, and would wait for the others for ever.
void CollectiveLevel::queue_sum(size_t elements, std::span<const Collective::Place> places) {
  try {
    collective_->all_reduce(type_, elements, places);
  } catch (...) {
    collective_->give_up();
    throw;
  }
}

bool CollectiveLevel::wait(Request& request, const std::atomic<bool>& called) {
  check();
  if (!counts_) return !called;
  const HostGather::Turn& turn = *static_cast<Begun&>(request).counts;
  if (!counts_->await(turn, called)) return false;
  std::vector<int64_t> counts(turn.all.size() / sizeof(int64_t));
  std::memcpy(counts.data(), turn.all.data(), turn.all.size());
  const int64_t learners = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (PartialSum& part : request.reduction.parts) part = learners > 0 ? PartialSum{part.vector, learners} : PartialSum{};
  return true;
}

void CollectiveLevel::wake() {
  if (counts_) counts_->wake();
}

void CollectiveLevel::mark_last() {
  last_.clear();
  for (size_t device = 0; device < streams().devices(); ++device) {
    const UsedStream used = streams().use(device);
    // A backend that only counts memory marks nothing.
    if (auto event = streams().backend(device).mark()) last_.push_back(std::move(event));
  }
}

bool CollectiveLevel::has_run_last() const {
  // Every event is asked. That of a device that has failed throws; those of the others wait for its part of the sum for ever.
  bool has = true;
  for (const auto& event : last_)
    if (!event->reached()) has = false;
  return has;
}

bool CollectiveLevel::is_at_work() {
  try {
    if (has_run_last()) return false;
  } catch (...) {
    collective_->give_up();
    throw;
  }
  check();
  return true;
}

void CollectiveLevel::check() {
  try {
    if (counts_) counts_->check();
    collective_->check();
  } catch (...) {
    collective_->give_up();
    throw;
  }
}

void CollectiveLevel::end() noexcept {
  try {
    if (!comes_true([&] { return !is_at_work(); })) collective_->give_up();
  } catch (...) {
    // The replicas on these devices throw the same fault.
    collective_->give_up();
  }
  // Also what a reduction has queued that failed while it was started: it writes to the sums.
  try {
    mark_last();
    if (comes_true([&] { return has_run_last(); })) return;
  } catch (...) {
    // A device that fails writes nothing more. The others may wait for it.
  }
  collective_->give_up();
}

}  // namespace arbalest
