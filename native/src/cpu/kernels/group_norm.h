// Runs of channels that are whole groups of a group norm and whole groups of registers too: what one thread does by itself.
#pragma once

#include <vector>

#include "cpu/kernels/channels.h"

namespace arbalest::kernels {

// Channel groups [first, last) of a layout, with norm groups [first_norm, last_norm).
struct NormSpan {
  size_t first, last;
  int64_t first_norm, last_norm;
};

// Of norm groups of `size` channels.
inline std::vector<NormSpan> norm_spans(const ChannelGroups& layout, int64_t size) {
  std::vector<NormSpan> spans;
  NormSpan span{0, 0, 0, 0};
  for (const ChannelGroup& group : layout.groups) {
    ++span.last;
    const int64_t channel = group.channel + group.channels;
    if (channel % size != 0) continue;
    span.last_norm = channel / size;
    spans.push_back(span);
    span = {span.last, span.last, span.last_norm, span.last_norm};
  }
  return spans;
}

}  // namespace arbalest::kernels
