#include "sync/asynchronous_central_model.h"

#include <algorithm>

#include "sync/trained_ranges.h"

namespace arbalest {
namespace {

// Elements that are locked together.
constexpr size_t kPiece = 16384;

}  // namespace

AsynchronousCentralModel::AsynchronousCentralModel(Backend& backend, const GroupSpec& spec, const std::byte* initial_canonical)
    : backend_(backend), layout_(spec.layout), frozen_(layout_.frozen()), weights_(std::make_shared<Memory>(backend_, layout_.bytes)) {
  from_canonical(backend_, layout_, initial_canonical, weights_->data());
  if (spec.average) average_.emplace(backend_, layout_, *spec.average);
}

void AsynchronousCentralModel::fetch(std::byte* vector) const {
  const size_t size = size_of(layout_.type());
  by_pieces([&](size_t begin, size_t end) { backend_.copy(vector + begin * size, weights_->data() + begin * size, (end - begin) * size); });
}

void AsynchronousCentralModel::add(const Memory& updates) {
  const void* const update = updates.data();
  by_pieces([&](size_t begin, size_t end) {
    backend_.average({layout_.type(), begin, end, weights_->data(), weights_->data(), {&update, 1}, -1, 0});
  });
}

void AsynchronousCentralModel::take_into_average(uint64_t position, uint64_t next_position) {
  const std::lock_guard averaging(averaging_);
  average_->begin_averaging(position, next_position);
  by_pieces([&](size_t begin, size_t end) {
    for_each_range(frozen_, begin, end, [&](size_t from, size_t to, bool learns) { average_->apply(weights_->data(), from, to, learns); });
  });
  average_->end_averaging();
}

void AsynchronousCentralModel::fetch_evaluated(std::byte* vector) const {
  const std::lock_guard averaging(averaging_);
  if (average())
    backend_.copy(vector, average(), layout_.bytes);
  else
    fetch(vector);
}

bool AsynchronousCentralModel::is_finite() const {
  const std::lock_guard averaging(averaging_);
  const auto is_sound = [&](const std::byte* model, size_t begin, size_t end) {
    return are_finite(backend_, layout_.type(), model, begin, end);
  };
  bool sound = !average() || is_sound(average(), 0, layout_.length());
  by_pieces([&](size_t begin, size_t end) { sound = sound && is_sound(weights_->data(), begin, end); });
  return sound;
}

void AsynchronousCentralModel::replace(const std::byte* canonical) {
  from_canonical(backend_, layout_, canonical, weights_->data());
  if (average_) average_->clear();
}

void AsynchronousCentralModel::capture(Snapshot& snapshot) const {
  snapshot.keep("central", *weights_);
  if (average_) average_->capture(snapshot);
}

void AsynchronousCentralModel::restore(const Snapshot& snapshot) {
  snapshot.give("central", *weights_);
  if (average_) average_->restore(snapshot);
}

template <class Work> void AsynchronousCentralModel::by_pieces(Work&& work) const {
  const size_t elements = layout_.length();
  for (size_t begin = 0; begin < elements; begin += kPiece) {
    const std::lock_guard lock(pieces_[begin / kPiece % kLocks]);
    work(begin, std::min(begin + kPiece, elements));
  }
}

}  // namespace arbalest
