#include "ascent.h"

#include <algorithm>
#include <string>
#include <system_error>

namespace arbalest {
namespace {

constexpr size_t kMostSpans = 4096;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

}  // namespace

Ascent::Ascent(Backend& backend, std::vector<std::unique_ptr<Level>> levels, Arrived arrived, Failed failed)
    : backend_(backend), levels_(std::move(levels)), arrived_(std::move(arrived)), failed_(std::move(failed)), storeys_(levels_.size()) {
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

void Ascent::work(size_t level) {
  Storey& storey = storeys_[level];
  struct Started {
    std::unique_ptr<Level::Exchange> exchange;
    double at;
  };
  std::deque<Started> under_way;
  double free_from = 0;
  try {
    // Sums are the same bits whichever thread makes them.
    backend_.use_threads(1);
    const std::unique_ptr<Stream> stream = backend_.stream();
    const UsedStream used(backend_, stream.get());
    while (!given_up_) {
      std::deque<Passage> arriving;
      {
        std::unique_lock lock(mutex_);
        storey.changed.wait(lock, [&] { return given_up_ || !under_way.empty() || !storey.arriving.empty(); });
        arriving.swap(storey.arriving);
      }
      for (Passage& passage : arriving) {
        const double at = now();
        for (const Part& part : passage.parts) backend_.wait(part.ready);
        under_way.push_back({levels_[level]->start(std::move(passage)), at});
      }
      if (under_way.empty()) continue;
      const Started oldest = std::move(under_way.front());
      under_way.pop_front();
      if (!levels_[level]->wait(*oldest.exchange, given_up_)) return;
      const std::shared_ptr<Event> ready = backend_.record();
      for (Part& part : oldest.exchange->passage.parts) part.ready = ready;
      // Those under way at once are told one after another, as they were waited for.
      const double end = now();
      record({level, oldest.exchange->passage.round, std::max(oldest.at, free_from), end});
      free_from = end;
      if (level + 1 < levels_.size())
        push(level + 1, std::move(oldest.exchange->passage));
      else
        arrived_(oldest.exchange->passage);
    }
  } catch (...) {
    failed_(std::current_exception());
  }
}

void Ascent::record(const LevelSpan& span) {
  const std::lock_guard lock(mutex_);
  if (!recording_) return;
  if (spans_.size() == kMostSpans) spans_.pop_front();
  spans_.push_back(span);
}

std::vector<LevelSpan> Ascent::spans() {
  const std::lock_guard lock(mutex_);
  recording_ = true;
  const std::vector<LevelSpan> taken(spans_.begin(), spans_.end());
  spans_.clear();
  return taken;
}

}  // namespace arbalest
