// Losses of the last iterations: the mean over the learners that took part in each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace arbalest {

class Losses {
 public:
  static constexpr size_t kKept = 65536;
  struct Sum {
    double total = 0;
    int64_t count = 0;
    int64_t iteration = -1;
  };

  // False where the loss is not a finite number; it is not counted then.
  bool add(int64_t iteration, double loss) {
    if (!std::isfinite(loss)) {
      if (not_finite_at_ < 0 || iteration < not_finite_at_) not_finite_at_ = iteration;
      return false;
    }
    Sum& sum = ring_[static_cast<size_t>(iteration) % kKept];
    if (sum.iteration != iteration) sum = {0, 0, iteration};
    sum.total += loss;
    ++sum.count;
    return true;
  }

  // Of iterations [from, until), those that are kept and have a loss.
  std::vector<Sum> sums(int64_t from, int64_t until) const {
    std::vector<Sum> found;
    for (int64_t i = std::max(from, until - static_cast<int64_t>(kKept)); i < until; ++i)
      if (const Sum& sum = ring_[static_cast<size_t>(i) % kKept]; sum.iteration == i) found.push_back(sum);
    return found;
  }
  // Adds the losses of learners elsewhere.
  void merge(const Sum& other) {
    Sum& sum = ring_[static_cast<size_t>(other.iteration) % kKept];
    if (sum.iteration != other.iteration) sum = {0, 0, other.iteration};
    sum.total += other.total;
    sum.count += other.count;
  }
  void merge_not_finite(int64_t iteration) {
    if (iteration >= 0 && (not_finite_at_ < 0 || iteration < not_finite_at_)) not_finite_at_ = iteration;
  }

  // The first iteration in which a loss was not finite, or -1.
  int64_t not_finite_at() const { return not_finite_at_; }

  // Of iterations [from, until), those that are kept; not a number where an iteration has no loss.
  std::vector<float> between(int64_t from, int64_t until) const {
    std::vector<float> losses;
    for (int64_t i = std::max({from, until - static_cast<int64_t>(kKept), int64_t{0}}); i < until; ++i) {
      const Sum& sum = ring_[static_cast<size_t>(i) % kKept];
      losses.push_back(sum.iteration == i && sum.count > 0 ? static_cast<float>(sum.total / static_cast<double>(sum.count))
                                                           : std::nanf(""));
    }
    return losses;
  }

 private:
  std::vector<Sum> ring_ = std::vector<Sum>(kKept);
  int64_t not_finite_at_ = -1;
};

}  // namespace arbalest
