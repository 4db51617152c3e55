// An activation as streams of vectors with parameters by channel: what batch norm and global pooling run over.
//
// A row is `vectors` registers of consecutive elements. Channels repeat along it with `period`: nChw8c in registers of 4 has period 8 and
// two vectors a row; in registers of 16 period 8, two pixels a row; plain has period 1 (all elements of a row belong to one channel);
// nhwc has groups of up to four registers, a row a pixel.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// Channels [channel, channel + channels) in one set of registers.
struct ChannelGroup {
  int64_t offset = 0;  // elements before its first row in image 0
  int64_t channel = 0;
  int channels = 0;  // without padding lanes
  int period = 0;    // channels of the row, padding lanes included
  int vectors = 1;   // 1, 2 or 4
  int width = 0;     // elements of a row; less than `vectors` registers only where vectors is 1
};

inline constexpr int kMostVectors = 4;
inline constexpr int kMostWidth = kMostVectors * kLanes;

class ChannelGroups {
 public:
  explicit ChannelGroups(const Activation& view) : images(view.images) {
    // With one pixel plain is nhwc.
    const bool nhwc = view.lanes == 1 ? view.pixels() == 1 : view.blocks == 1 && view.lanes == view.channels;
    image_stride = view.blocks * view.plane();
    elements = view.elements();
    elements_a_channel = view.images * view.pixels();
    if (nhwc) {
      rows = view.pixels();
      row_stride = view.channels;
      for (int64_t channel = 0; channel < view.channels;) {
        const int64_t left = view.channels - channel;
        const int vectors = left >= 4 * kLanes ? 4 : left >= 2 * kLanes ? 2 : 1;
        const int width = static_cast<int>(std::min<int64_t>(left, vectors * kLanes));
        groups.push_back({channel, channel, width, width, vectors, width});
        channel += width;
      }
    } else {
      const int vectors = std::max(1, static_cast<int>(view.lanes) / kLanes), width = vectors * kLanes;
      rows = view.plane() / width;
      row_stride = width;
      tail = static_cast<int>(view.plane() % width);
      for (int64_t block = 0; block < view.blocks; ++block) {
        const int64_t channel = block * view.lanes, left = view.channels - channel;
        groups.push_back(
            {view.offset(0, block), channel, static_cast<int>(std::min(left, view.lanes)), static_cast<int>(view.lanes), vectors, width});
      }
    }
  }

  std::vector<ChannelGroup> groups;
  int64_t images, image_stride, elements, elements_a_channel;
  int64_t rows, row_stride;  // whole rows of one group in one image
  int tail = 0;              // elements of the last row if it is incomplete, otherwise 0

  // Images whose sums are kept in float before they are added up in double.
  int64_t images_a_chunk() const { return std::max<int64_t>(1, 1024 / (rows + 1)); }
  int64_t chunks() const { return (images + images_a_chunk() - 1) / images_a_chunk(); }

  int64_t at(const ChannelGroup& group, int64_t image) const { return group.offset + image * image_stride; }
};

// body(first, count) over pieces of the rows of an image, whose sums are kept in float before they are added to those of the others: a
// float that has summed many rows takes little of another one.
template <class Body> void for_each_piece(int64_t rows, const Body& body) {
  constexpr int64_t kRowsAPiece = 1024;
  for (int64_t row = 0; row < rows; row += kRowsAPiece) body(row, std::min(kRowsAPiece, rows - row));
}

// `values` of a group's channels, repeated over the elements of a row; zero for padding lanes.
template <class Value> void spread(const ChannelGroup& group, Value* row, const Value* values) {
  for (int i = 0, channel = 0; i < group.vectors * kLanes; ++i) {
    row[i] = channel < group.channels ? values[channel] : Value{};
    if (++channel == group.period) channel = 0;
  }
}

// The reverse: `channels` becomes the sums of a group's channels, from sums of the elements of its rows.
template <int Vectors> void gather(const ChannelGroup& group, float* channels, const Floats (&row)[Vectors]) {
  float lanes[kMostWidth];
  for (int v = 0; v < Vectors; ++v) store(lanes + v * kLanes, row[v]);
  for (int c = 0; c < group.channels; ++c) {
    float sum = 0;
    for (int i = c; i < group.width; i += group.period) sum += lanes[i];
    channels[c] = sum;
  }
}

// body.operator()<Vectors, Partial>() for the registers of a group's rows.
template <class Body> inline void for_registers(const ChannelGroup& group, const Body& body) {
  if (group.width < kLanes) return body.template operator()<1, true>();
  if (group.vectors == 4) return body.template operator()<4, false>();
  if (group.vectors == 2) return body.template operator()<2, false>();
  return body.template operator()<1, false>();
}

// Two passes with a reduction between them, channel groups outermost so that the second pass finds its group in the cache:
// gather(group, chunk), then finish(group), then apply(group, image). The latest images are the warmest: they are applied first.
template <class Gather, class Finish, class Apply>
void two_passes(const ChannelGroups& layout, const Gather& gather, const Finish& finish, const Apply& apply) {
  const int64_t groups = static_cast<int64_t>(layout.groups.size()), chunks = layout.chunks(), images = layout.images;
  if (!worth_threads(layout.elements)) {
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t chunk = 0; chunk < chunks; ++chunk) gather(group, chunk);
      finish(group);
      for (int64_t image = images; image-- > 0;) apply(group, image);
    }
    return;
  }
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t item = 0; item < groups * chunks; ++item) gather(item / chunks, item % chunks);
#pragma omp for schedule(static)
    for (int64_t group = 0; group < groups; ++group) finish(group);
#pragma omp for schedule(static)
    for (int64_t item = 0; item < groups * images; ++item) apply(item / images, item % images);
  }
}

}  // namespace arbalest::kernels
