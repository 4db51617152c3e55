#include "data/batch_stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/no_class.h"

namespace arbalest {
namespace {

// A waiting reader checks its flag this often.
constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

BatchStream::Reader::Reader(std::shared_ptr<BatchStream> stream) : stream_(std::move(stream)) {
  const std::lock_guard lock(stream_->mutex_);
  stream_->readers_.push_back(this);
}

BatchStream::Reader::~Reader() {
  release();
  const std::lock_guard lock(stream_->mutex_);
  std::erase(stream_->readers_, this);
  stream_->wake();  // the batches made for this reader are stale now
}

const Dataset* BatchStream::Reader::take(const Request& wish, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  BatchStream& stream = *stream_;
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(stream.mutex_);
  if (wish_ != wish) {
    wish_ = wish;
    last_ = stream.latest_ = wish.position;
    stream.note(wish.position);
    stream.wake();
  }
  const auto waited = [&] { stream.totals_.wait_seconds += seconds_since(start); };
  for (;;) {
    if (cancelled) {
      wish_.reset();
      waited();
      return nullptr;
    }
    const auto found = stream.at_.find(wish.position);
    if (found != stream.at_.end() && found->second->filled && found->second->request == wish) {
      held_ = found->second;
      ++held_->holders;
      ++stream.totals_.batches;
      wish_.reset();
      waited();
      return &held_->data;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) {
      waited();
      return nullptr;
    }
    stream.changed_.wait_until(lock, std::min(deadline, now + kSlice));
  }
}

void BatchStream::Reader::release() {
  if (!held_) return;
  const std::lock_guard lock(stream_->mutex_);
  held_->spent = true;
  --held_->holders;
  held_ = nullptr;
  stream_->wake();
}

std::span<const int64_t> BatchStream::Reader::places(int64_t count) {
  for (auto next = static_cast<int64_t>(places_.size()); next < count; ++next) places_.push_back(next);
  return std::span(places_).first(static_cast<size_t>(count));
}

BatchStream::BatchStream(StreamSpec spec)
    : spec_(std::move(spec)), slots_(static_cast<size_t>(spec_.slots)), stride_(static_cast<uint64_t>(spec_.batch)) {
  for (Slot& slot : slots_) slot.data = spec_.kind;
}

// Fewer requests than each reader makes in two turns could leave gaps that other readers are about to fill.
void BatchStream::note(uint64_t position) {
  if (!endless()) return;
  newest_.push_back(position);
  const size_t kept = std::max<size_t>(4, 2 * readers_.size());
  while (newest_.size() > kept) newest_.pop_front();
  if (newest_.size() < kept) return;
  std::vector<uint64_t> sorted(newest_.begin(), newest_.end());
  std::sort(sorted.begin(), sorted.end());
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] > sorted[i - 1]) least = std::min(least, sorted[i] - sorted[i - 1]);
  if (least != std::numeric_limits<uint64_t>::max()) stride_ = std::max(least, static_cast<uint64_t>(spec_.batch));
}

// The batch after the one at `position`; without a position, the first batch.
BatchStream::Request BatchStream::after(std::optional<uint64_t> position) const {
  Request next{position ? *position + stride_ : spec_.from, spec_.batch, {}};
  if (next.position >= spec_.until) next.position = spec_.from;
  if (!endless()) next.count = static_cast<int64_t>(std::min<uint64_t>(static_cast<uint64_t>(spec_.batch), spec_.until - next.position));
  return next;
}

// How far the readers are. They share an endless range: the furthest live reader counts. Otherwise the position of the last request.
std::optional<uint64_t> BatchStream::front() const {
  if (!endless()) return latest_;
  std::optional<uint64_t> furthest;
  for (const Reader* reader : readers_)
    if (reader->last_ && (!furthest || *reader->last_ > *furthest)) furthest = reader->last_;
  return furthest;
}

// Whether the batch at a position is one of the next that the readers will ask for; there are as many of these as slots.
bool BatchStream::is_ahead(uint64_t position) const {
  const std::optional<uint64_t> here = front();
  if (!here) return true;
  const uint64_t window = static_cast<uint64_t>(spec_.slots) * stride_;
  if (endless()) return position > *here && position - *here <= window;
  const uint64_t batch = static_cast<uint64_t>(spec_.batch), cycle = (spec_.until - spec_.from + batch - 1) / batch;
  const auto index = [&](uint64_t at) { return (at - spec_.from) / batch; };
  const uint64_t distance = (index(position) + cycle - index(*here) % cycle) % cycle;
  return (distance == 0 ? cycle : distance) <= static_cast<uint64_t>(spec_.slots);
}

// Whether the batch was made for a reader that has gone, or by a wrong guess. A batch that a slow reader still needs is not stale.
bool BatchStream::is_stale(const Slot& slot) const {
  if (!endless()) return !is_ahead(slot.request.position);
  std::optional<uint64_t> oldest;
  for (const Reader* reader : readers_)
    if (reader->last_ && (!oldest || *reader->last_ < *oldest)) oldest = reader->last_;
  return oldest && slot.request.position < *oldest;
}

bool BatchStream::is_wished(const Slot& slot) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const Reader* reader) { return reader->wish_ == slot.request; });
}

// The slot whose batch is needed least. A batch that a reader waits for may replace one that has not been asked for; a batch ahead may not.
BatchStream::Slot* BatchStream::reusable(bool urgent) {
  enum { kEmpty, kDone, kSpentAhead, kReadyAhead, kNever };
  const auto loss = [&](const Slot& slot) -> int {
    if (slot.filling || slot.holders > 0) return kNever;
    if (!slot.filled) return kEmpty;
    if (is_wished(slot)) return kNever;
    if (slot.spent) return is_ahead(slot.request.position) ? kSpentAhead : kDone;
    return is_stale(slot) ? kDone : kReadyAhead;
  };
  Slot* best = nullptr;
  int least = urgent ? kNever : kSpentAhead;
  for (Slot& slot : slots_) {
    const int found = loss(slot);
    const bool farther = best && found == least && slot.request.position > best->request.position;
    if (found < least || farther) best = &slot, least = found;
    if (least == kEmpty) break;
  }
  return best;
}

std::optional<BatchStream::Order> BatchStream::begin(const Request& request, bool urgent) {
  const auto stands = at_.find(request.position);
  // Replaces another batch at this position, which was a guess.
  Slot* slot = stands == at_.end() ? reusable(urgent) : stands->second;
  if (!slot || slot->filling || slot->holders > 0) return std::nullopt;
  if (slot->filled) at_.erase(slot->request.position);
  slot->request = request;
  slot->turn = ++turns_;
  slot->filling = true;
  slot->filled = slot->spent = false;
  at_[request.position] = slot;
  return Order{slot->turn, request};
}

std::optional<BatchStream::Order> BatchStream::next(bool ahead) {
  const std::lock_guard lock(mutex_);
  if (!ahead) {
    const Request* first = nullptr;
    for (const Reader* reader : readers_) {
      if (!reader->wish_ || (first && first->position <= reader->wish_->position)) continue;
      const auto found = at_.find(reader->wish_->position);
      if (found != at_.end() && (found->second->filling || found->second->request == *reader->wish_)) continue;
      first = &*reader->wish_;
    }
    return first ? begin(*first, true) : std::nullopt;
  }
  Request request = after(front());
  for (int64_t i = 0; i < spec_.slots; ++i, request = after(request.position)) {
    if (at_.count(request.position)) continue;
    return begin(request, false);
  }
  return std::nullopt;
}

void BatchStream::feed(uint64_t turn, std::span<const std::byte> samples, const Targets& targets) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.filling && slot.turn == turn; });
  if (found == slots_.end()) return;
  Slot& slot = *found;
  check_lengths(slot.request, samples.size(), targets);
  if (const auto* labels = std::get_if<std::span<const int32_t>>(&targets)) {
    slot.data.labels.assign(labels->begin(), labels->end());
    // Of the copy: another thread may write to memory that it shares.
    check_classes(slot);
  } else {
    const auto numbers = std::get<std::span<const float>>(targets);
    slot.data.targets.assign(numbers.begin(), numbers.end());
  }
  slot.data.count = slot.request.count;
  const auto* from = reinterpret_cast<const uint8_t*>(samples.data());
  slot.data.samples.assign(from, from + samples.size());
  slot.filling = false;
  slot.filled = true;
  changed_.notify_all();
}

void BatchStream::check_lengths(const Request& request, size_t bytes, const Targets& targets) const {
  const auto count = static_cast<size_t>(request.count), needed = count * static_cast<size_t>(elements_of(spec_.kind.sample));
  const size_t numbers = std::visit([](const auto& each) { return each.size(); }, targets);
  const size_t needed_numbers = count * static_cast<size_t>(elements_of(spec_.kind.classifies() ? spec_.kind.label : spec_.kind.target));
  const bool are_labels = std::holds_alternative<std::span<const int32_t>>(targets);
  if (bytes == needed && numbers == needed_numbers && are_labels == spec_.kind.classifies()) return;
  const auto shown_numbers = [](size_t each, bool labels) { return std::to_string(each) + (labels ? " labels" : " targets"); };
  throw Error("SHAPE_MISMATCH", "batch at position " + std::to_string(request.position) + ": received " + std::to_string(bytes) +
                                    " bytes and " + shown_numbers(numbers, are_labels) + "; give " + std::to_string(needed) + " and " +
                                    shown_numbers(needed_numbers, spec_.kind.classifies()));
}

// Of several to a sample, any may be kNoClass.
void BatchStream::check_classes(const Slot& slot) const {
  const std::vector<int32_t>& labels = slot.data.labels;
  const int32_t least = spec_.kind.label.empty() ? 0 : kNoClass;
  const auto each = static_cast<size_t>(elements_of(spec_.kind.label));
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < least || labels[i] >= spec_.kind.classes)
      throw Error("LABEL_OUT_OF_RANGE", "labels: sample " + std::to_string(i / each) + " at position " +
                                            std::to_string(slot.request.position) + " has class " + std::to_string(labels[i]) +
                                            "; classes are 0 to " + std::to_string(spec_.kind.classes - 1));
}

void BatchStream::watch(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  for (Slot& slot : slots_) {
    if (!slot.filling) continue;
    at_.erase(slot.request.position);
    slot.filling = false;
  }
  this->wake();
}

void BatchStream::wake() {
  if (wake_) wake_();
}

StreamStatus BatchStream::status() const {
  const std::lock_guard lock(mutex_);
  StreamStatus status = totals_;
  for (const Slot& slot : slots_) {
    status.filling += slot.filling;
    status.ready += slot.filled && !slot.spent && slot.holders == 0;
    status.taken += slot.holders > 0;
  }
  for (const Reader* reader : readers_) status.waiting += reader->wish_.has_value();
  return status;
}

}  // namespace arbalest
