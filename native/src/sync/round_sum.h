// One round's averaging, shared out in pieces among whoever would otherwise wait. Each piece is summed in the members' order, so it does
// not matter who sums it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backend.h"
#include "vectors.h"

namespace arbalest {

class RoundSum {
 public:
  // `pass` without its range and corrections; `slots`, in the members' order, are kept alive until the sum is done.
  RoundSum(Backend& backend, const AveragePass& pass, size_t n, std::vector<std::shared_ptr<Memory>> slots);

  bool has_pieces() const { return next_.load(std::memory_order_relaxed) < n_; }
  // Sums pieces until none is left to take. True for the one caller that has finished the last of all.
  bool help();

 private:
  Backend& backend_;
  AveragePass pass_;
  const size_t n_;
  const std::vector<std::shared_ptr<Memory>> slots_;
  std::vector<const void*> corrections_;
  std::atomic<size_t> next_{0}, left_;
};

}  // namespace arbalest
