// Channels moved between two activations whose blocks do not line up: runs of lanes that are consecutive on both sides.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/kernels/activation.h"

namespace arbalest::kernels {

// Channels [to, to + channels) of one block of the result, consecutive in one block of the source.
struct ChannelRun {
  int64_t source_offset;  // elements before the source's first pixel in its image
  int64_t lane;           // in the result's block
  int64_t lanes;
};

// Where the channels of each block of `result` lie in `source`, which has channel c of the result as its channel c + shift.
inline std::vector<std::vector<ChannelRun>> channel_runs(const Activation& source, const Activation& result, int64_t shift) {
  std::vector<std::vector<ChannelRun>> blocks(static_cast<size_t>(result.blocks));
  for (int64_t channel = 0; channel < result.channels; ++channel) {
    const int64_t from = channel + shift, lane = channel % result.lanes;
    if (from < 0 || from >= source.channels) continue;
    std::vector<ChannelRun>& runs = blocks[static_cast<size_t>(channel / result.lanes)];
    const bool follows = !runs.empty() && runs.back().lane + runs.back().lanes == lane && from % source.lanes != 0;
    if (follows)
      ++runs.back().lanes;
    else
      runs.push_back({source.channel_offset(from), lane, 1});
  }
  return blocks;
}

// `pixels` times `lanes` elements, `from_step` and `to_step` elements from one pixel to the next.
template <class T> void copy_lanes(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t lanes, int64_t pixels) {
  if (from_step == lanes && to_step == lanes) {
    std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(pixels * lanes) * sizeof(T));
    return;
  }
  const auto copy = [&](auto count) {
    for (int64_t p = 0; p < pixels; ++p) std::memcpy(to + p * to_step, from + p * from_step, static_cast<size_t>(count) * sizeof(T));
  };
  if (lanes == 1)
    copy(std::integral_constant<int, 1>{});
  else if (lanes == 8)
    copy(std::integral_constant<int, 8>{});
  else if (lanes == 16)
    copy(std::integral_constant<int, 16>{});
  else
    copy(lanes);
}

}  // namespace arbalest::kernels
