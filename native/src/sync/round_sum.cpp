#include "round_sum.h"

#include <algorithm>

namespace arbalest {
namespace {

// Small enough to share out, large enough that claiming it costs nothing beside it.
constexpr size_t kPiece = 16384;

}  // namespace

RoundSum::RoundSum(Backend& backend, const AveragePass& pass, size_t n, std::vector<std::shared_ptr<Memory>> slots)
    : backend_(backend), pass_(pass), n_(n), slots_(std::move(slots)), left_((n + kPiece - 1) / kPiece) {
  for (const auto& slot : slots_) corrections_.push_back(slot->data());
  pass_.corrections = corrections_;
}

bool RoundSum::help() {
  while (true) {
    const size_t begin = next_.fetch_add(kPiece, std::memory_order_relaxed);
    if (begin >= n_) return false;
    AveragePass piece = pass_;
    piece.begin = begin;
    piece.end = std::min(begin + kPiece, n_);
    backend_.average(piece);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) return true;
  }
}

}  // namespace arbalest
