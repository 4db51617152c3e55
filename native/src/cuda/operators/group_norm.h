// How the kernels of group norm divide images, and where their sums lie: each image's chunks of rows by channel, then each group's numbers.
#pragma once

#include <algorithm>

#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {

// The channels of N images in groups of `size`.
struct NormGroups {
  int images, groups, size;
  int pixels;  // of an image

  NormGroups(const Shape& x, const Attributes& attributes) {
    const Image image(x);
    images = image.n;
    groups = static_cast<int>(attributes.number("groups"));
    size = image.c / groups;
    pixels = image.h * image.w;
  }

  EVERYWHERE int channels() const { return groups * size; }
  EVERYWHERE int64_t all() const { return static_cast<int64_t>(images) * groups; }
  // Of an image and one of its channels.
  EVERYWHERE int64_t of(int64_t image, int channel) const { return image * groups + channel / size; }
  EVERYWHERE float elements() const { return static_cast<float>(size) * static_cast<float>(pixels); }

  // An image has at most this many chunks. Each thread then takes several pixels.
  int most_chunks() const { return std::clamp(pixels / 32, 1, kMostPartials); }
};

// Two numbers of each channel in each chunk of each image, (N, chunks, C, 2).
struct ChunkNumbers {
  float* numbers;
  ChannelTiles tiles;  // of one image
  NormGroups norm;

  EVERYWHERE int64_t blocks() const { return norm.images * tiles.blocks(); }
  EVERYWHERE int64_t image(int64_t block) const { return block / tiles.blocks(); }
  EVERYWHERE int64_t tile(int64_t block) const { return block % tiles.blocks(); }
  EVERYWHERE float* at(int64_t image, int chunk, int channel) const {
    return numbers + ((image * tiles.chunks + chunk) * norm.channels() + channel) * 2;
  }
};

// Two numbers of each group, (N, groups, 2), lie behind those of the chunks.
inline size_t group_norm_scratch(const LoweringRequest& request) {
  const NormGroups norm(request.inputs.at(0).shape, request.attributes);
  const auto chunks = static_cast<size_t>(norm.images) * static_cast<size_t>(norm.most_chunks()) * static_cast<size_t>(norm.channels());
  return (chunks + static_cast<size_t>(norm.all())) * 2 * sizeof(float);
}

// Where the second pass reads and writes: thread i has one pack of channels, and every `step`-th pixel of an image, so that neighbouring
// threads have neighbouring memory.
struct PixelsOfThreads {
  int packs, pixels, step;

  PixelsOfThreads(int packs_, int pixels_) : packs(packs_), pixels(pixels_), step((pixels_ + 7) / 8) {}
  int64_t threads(int images) const { return static_cast<int64_t>(images) * step * packs; }
  EVERYWHERE int pack(int64_t i) const { return static_cast<int>(i % packs); }
  EVERYWHERE int64_t image(int64_t i) const { return i / packs / step; }
  EVERYWHERE int first(int64_t i) const { return static_cast<int>(i / packs % step); }
  // The place of a pixel's pack.
  EVERYWHERE int64_t at(int64_t i, int pixel) const { return (image(i) * pixels + pixel) * packs + pack(i); }
};

}  // namespace arbalest::cuda
