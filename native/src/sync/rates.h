// Rates of iterations, in pieces; the last rate of a piece holds until the next begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/error.h"

namespace arbalest {

class Rates {
 public:
  // In the place of whatever held from `from` on.
  void set(int64_t from, std::span<const float> rates) {
    if (rates.empty()) throw Error("INVALID_OPTION", "rates: received none; give at least one");
    pieces_.erase(pieces_.lower_bound(from), pieces_.end());
    pieces_[from] = {rates.begin(), rates.end()};
  }

  double at(int64_t iteration) const {
    const auto after = pieces_.upper_bound(iteration);
    if (after == pieces_.begin()) return 0;
    const auto& [from, rates] = *std::prev(after);
    return rates[std::min<size_t>(static_cast<size_t>(iteration - from), rates.size() - 1)];
  }

 private:
  std::map<int64_t, std::vector<float>> pieces_;
};

}  // namespace arbalest
