// A range of the parameter vector in the parts that learn and those that are frozen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace arbalest {

// work(begin, end, learns) for each part of [begin, end) in turn; `frozen` as ParameterLayout::frozen() gives it.
template <class Work> void for_each_range(const std::vector<std::pair<size_t, size_t>>& frozen, size_t begin, size_t end, Work&& work) {
  const auto until = [&](size_t bound, bool learns) {
    const size_t from = std::exchange(begin, std::max(begin, std::min(end, bound)));
    if (from < begin) work(from, begin, learns);
  };
  for (const auto& [first, last] : frozen) {
    until(first, true);
    until(last, false);
  }
  until(end, true);
}

}  // namespace arbalest
