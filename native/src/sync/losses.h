// Mean losses of the last iterations, over whoever took part in each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace arbalest {

class Losses {
 public:
  void add(int64_t iteration, double loss) {
    Entry& entry = ring_[static_cast<size_t>(iteration) % kKept];
    if (entry.iteration != iteration) entry = {0, 0, iteration};
    entry.sum += loss;
    ++entry.count;
  }

  // Of iterations [from, until), those that are kept; none is not a number.
  std::vector<float> between(int64_t from, int64_t until) const {
    std::vector<float> losses;
    for (int64_t i = std::max({from, until - static_cast<int64_t>(kKept), int64_t{0}}); i < until; ++i) {
      const Entry& entry = ring_[static_cast<size_t>(i) % kKept];
      losses.push_back(entry.iteration == i && entry.count > 0 ? static_cast<float>(entry.sum / entry.count) : std::nanf(""));
    }
    return losses;
  }

 private:
  static constexpr size_t kKept = 65536;
  struct Entry {
    double sum = 0;
    int count = 0;
    int64_t iteration = -1;
  };
  std::vector<Entry> ring_ = std::vector<Entry>(kKept);
};

}  // namespace arbalest
