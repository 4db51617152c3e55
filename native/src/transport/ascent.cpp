#include "transport/ascent.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

Ascent::Ascent(std::vector<std::unique_ptr<Level>> levels, LevelSpans& spans, Arrived arrived, Failed failed)
    : levels_(std::move(levels)), spans_(spans), arrived_(std::move(arrived)), failed_(std::move(failed)), storeys_(levels_.size()) {
  try {
    for (size_t level = 0; level < levels_.size(); ++level) storeys_[level].thread = std::thread([this, level] { work(level); });
  } catch (const std::system_error&) {
    end();
    throw Error("OUT_OF_MEMORY", "levels: no thread can be had for one of " + std::to_string(levels_.size()) + "; use fewer learners");
  }
}

Ascent::~Ascent() { end(); }

void Ascent::end() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    for (Storey& storey : storeys_) storey.changed.notify_all();
  }
  for (Storey& storey : storeys_)
    if (storey.thread.joinable()) storey.thread.join();
}

void Ascent::carry(Passage passage) { push(0, std::move(passage)); }

void Ascent::push(size_t level, Passage passage) {
  const std::lock_guard lock(mutex_);
  storeys_[level].arriving.push_back(std::move(passage));
  storeys_[level].changed.notify_one();
}

std::deque<Passage> Ascent::take(size_t level, bool under_way) {
  Storey& storey = storeys_[level];
  std::unique_lock lock(mutex_);
  const auto called = [&] { return given_up_ || under_way || !storey.arriving.empty(); };
  while (!called()) {
    // On streams a sum may fail long after it was waited for, and others wait for it there.
    lock.unlock();
    const bool is_at_work = levels_[level]->is_at_work();
    lock.lock();
    if (is_at_work)
      storey.changed.wait_for(lock, kSlice, called);
    else
      storey.changed.wait(lock, called);
  }
  return std::exchange(storey.arriving, {});
}

void Ascent::work(size_t level) {
  try {
    carry_through(level);
  } catch (...) {
    failed_(std::current_exception());
  }
  levels_[level]->end();
}

void Ascent::carry_through(size_t number) {
  Level& level = *levels_[number];
  const DeviceStreams& streams = level.streams();
  struct Started {
    std::unique_ptr<Level::Exchange> exchange;
    double at;
  };
  std::deque<Started> under_way;
  double free_from = 0;
  // Sums are the same bits whichever thread makes them.
  streams.backend(0).use_threads(1);
  while (!given_up_) {
    for (Passage& passage : take(number, !under_way.empty())) {
      const double at = LevelSpans::now();
      for (size_t device = 0; device < streams.devices(); ++device) {
        const UsedStream used = streams.use(device);
        streams.backend(device).wait(passage.parts[device].ready);
      }
      under_way.push_back({level.start(std::move(passage)), at});
    }
    if (under_way.empty()) continue;
    const Started oldest = std::move(under_way.front());
    under_way.pop_front();
    if (!level.wait(*oldest.exchange, given_up_)) return;
    Passage& passage = oldest.exchange->passage;
    for (size_t device = 0; device < streams.devices(); ++device) {
      const UsedStream used = streams.use(device);
      passage.parts[device].ready = streams.backend(device).record();
    }
    // Those under way at once are told one after another, as they were waited for.
    const double end = LevelSpans::now();
    spans_.record({static_cast<int64_t>(number), passage.round, std::max(oldest.at, free_from), end});
    free_from = end;
    if (number + 1 < levels_.size())
      push(number + 1, std::move(passage));
    else
      arrived_(passage);
  }
}

}  // namespace arbalest
