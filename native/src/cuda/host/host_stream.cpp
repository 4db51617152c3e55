#include "cuda/host/host_stream.h"

#include <cstring>
#include <utility>

#include "core/error.h"

namespace arbalest::cuda {

bool HostEvent::reached() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return reached_;
}

void HostEvent::reach(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  reached_ = true;
  if (failure) failure_ = std::move(failure);
  changed_.notify_all();
}

void HostEvent::await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
  if (failure_) std::rethrow_exception(failure_);
}

HostStream::HostStream(DeviceBackend& backend) : DeviceStream(backend), thread_([this] { work(); }) {}

HostStream::~HostStream() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

namespace {

// A point of the side branch: the number of pieces of work before it.
struct SideEnd final : Event {
  explicit SideEnd(size_t pieces_) : pieces(pieces_) {}
  const size_t pieces;
  bool reached() override {
    throw Error("INTERNAL", "a point of a side branch: it was asked whether it is reached, which the stand-in cannot tell; report this");
  }
};

}  // namespace

std::shared_ptr<Event> HostStream::end_side() {
  on_side_ = false;
  return std::make_shared<SideEnd>(recorded_on_side_);
}

void HostStream::await_side(const std::shared_ptr<Event>& end) {
  submit([this, pieces = static_cast<SideEnd&>(*end).pieces] {
    for (; done_on_side_ < pieces; ++done_on_side_) side_work_.at(done_on_side_)();
  });
}

void HostStream::submit(std::function<void()> work) {
  if (recording_) {
    if (on_side_) {
      ++recorded_on_side_;
      recorded_.push_back([this, work = std::move(work)] { side_work_.push_back(work); });
    } else {
      recorded_.push_back(std::move(work));
    }
    return;
  }
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}

void HostStream::submit_kernel(std::function<void()> kernel) {
  submit([this, kernel = std::move(kernel)] {
    if (!failure()) kernel();
  });
}

void HostStream::run_branches(std::span<const Branch> branches) {
  for (size_t i = branches.size(); i-- > 0;)
    for (auto& each : queue_of(branches[i].stream).record(branches[i].work)) submit(std::move(each));
}

void HostStream::queue_copy(void* to, const void* from, size_t bytes) {
  submit([=] { std::memmove(to, from, bytes); });
}

void HostStream::set(uint64_t seed, uint64_t position, std::vector<int64_t> samples) {
  submit([this, seed, position, samples = std::move(samples)]() mutable {
    samples_ = std::move(samples);
    parameters_.seed = seed;
    parameters_.position = position;
    parameters_.samples = samples_.empty() ? nullptr : samples_.data();
  });
}

void HostStream::bring(std::vector<uint8_t> batch, std::vector<int32_t> labels, std::vector<float> targets) {
  submit([this, batch = std::move(batch), labels = std::move(labels), targets = std::move(targets)]() mutable {
    batch_ = std::move(batch);
    labels_ = std::move(labels);
    targets_ = std::move(targets);
    parameters_.batch = batch_.data();
    parameters_.labels = labels_.data();
    parameters_.targets = targets_.data();
  });
}

std::shared_ptr<HostEvent> HostStream::mark() {
  auto event = std::make_shared<HostEvent>();
  submit([event, this] { event->reach(failure()); });
  return event;
}

void HostStream::queue_after(std::shared_ptr<HostEvent> event) {
  submit([event = std::move(event)] { event->await(); });
}

void HostStream::synchronise() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool HostStream::is_idle() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return queue_.empty() && !busy_;
}

void HostStream::clear_side() {
  submit([this] {
    side_work_.clear();
    done_on_side_ = 0;
  });
}

std::vector<std::function<void()>> HostStream::record(const std::function<void()>& queue) {
  struct Recorded {
    HostStream& stream;
    ~Recorded() {
      stream.recording_ = false;
      stream.recorded_.clear();
      stream.forked_.clear();
    }
  };
  recording_ = true;
  on_side_ = false;
  recorded_on_side_ = 0;
  const Recorded recorded{*this};
  queue();
  if (!forked_.empty()) throw Error("INTERNAL", "recording: a transfer that it begins is not settled in it; report this");
  return std::move(recorded_);
}

void HostStream::fork(const void* tier, size_t transfer) {
  if (recording_) forked_.emplace(tier, transfer);
}

void HostStream::join(const void* tier, size_t transfer) {
  if (recording_ && forked_.erase({tier, transfer}) == 0)
    throw Error("INTERNAL", "recording: a transfer that it settles has not begun in it; report this");
}

void HostStream::run(const std::vector<std::function<void()>>& recording) {
  for (const auto& each : recording) submit(each);
  has_run_recordings_ = true;
}

std::exception_ptr HostStream::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void HostStream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> next = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      next();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace arbalest::cuda
