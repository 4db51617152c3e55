// What self-attention and its gradient share: the extents of heads, tiles of queries, and the panels that products read.
//
// In bfloat16 products multiply pairs: of features in scores, and of positions in sums over positions. Powers, probabilities and the
// gradients of scores are rounded to bfloat16 for that; sums and logarithms are floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/product.h"
#include "cpu/kernels/scratch_pieces.h"
#include "cpu/sequence_length.h"

namespace arbalest::kernels::attention {

// What belongs to the rows of a tile fits into the lanes of a register, and pairs of rows do not lie in two tiles.
static_assert(kTileRows <= kLanes && kTileRows % 2 == 0);

// Elements from one row of scores to the next: an odd number of registers, since rows a power of two apart share few sets of the nearest
// cache.
inline int64_t apart(int64_t length) {
  return in_registers(length) / kLanes % 2 == 0 ? in_registers(length) + kLanes : in_registers(length);
}

struct Extents {
  Extents(const Shape& qkv, int64_t head_count)
      : samples(qkv[0]),
        length(qkv[1]),
        features(qkv[2] / 3),
        heads(head_count),
        width(features / heads),
        row(in_registers(width)),
        column(apart(length)),
        scale(1 / std::sqrt(static_cast<float>(width))) {}

  int64_t samples, length, features, heads, width;
  int64_t row, column;  // from one row of a head's features, and of scores, to the next
  float scale;

  // Heads of samples. Where the first row of one begins in qkv, in y, and in what has one number for each position.
  int64_t items() const { return samples * heads; }
  int64_t qkv_of(int64_t item) const { return item / heads * length * 3 * features + item % heads * width; }
  int64_t result_of(int64_t item) const { return item / heads * length * features + item % heads * width; }
  int64_t positions_of(int64_t item) const { return item * length; }
  // The one that comes after, or the last again.
  int64_t after(int64_t item) const { return std::min(item + 1, items() - 1); }
  // The work of a head in elements, the unit of the parallel loops.
  int64_t work() const { return items() * length * length * width / 8; }

  // Of one sample: only the positions before its length, if `lengths` (N) are given. Needs no more scratch.
  Extents of(const float* lengths, int64_t sample) const {
    Extents one = *this;
    if (lengths) one.length = length_of(lengths[sample], length);
    one.column = apart(one.length);
    return one;
  }
};

// Queries [first, first + rows), which together see the first `seen` positions. The weights of what a row of them does not see are zeros;
// since zero times a NaN is a NaN, only a NaN or an infinity passes from such a position to the row.
struct Tile {
  Tile(const Extents& e, bool causal_, int64_t first_, int64_t end)
      : causal(causal_), first(first_), rows(std::min<int64_t>(kTileRows, end - first)), seen(causal ? first + rows : e.length) {}

  const bool causal;
  const int64_t first, rows, seen;

  int64_t columns() const { return in_registers(seen); }
  int64_t seen_by(int64_t row) const { return causal ? first + row + 1 : seen; }
  // The registers' columns that every row sees.
  int64_t seen_by_all() const { return (causal ? first + 1 : seen) / kLanes * kLanes; }
};

// body.operator()<Masked>(at) for each register of `columns`. From column `whole` on, a row may not see all of a register.
template <class Body> inline void for_each_column(int64_t whole, int64_t columns, const Body& body) {
  for (int64_t at = 0; at < whole; at += kLanes) body.template operator()<false>(at);
  for (int64_t at = whole; at < columns; at += kLanes) body.template operator()<true>(at);
}

// Lanes of the register at column `at` that a row sees which sees the first `seen` columns.
inline Ints lanes_seen(int64_t seen, int64_t at) { return lane_numbers() < static_cast<int32_t>(seen - at); }

// Memory for as many heads at a time as there are threads: the planned scratch of one thread, or the kernel's own.
class Scratch {
 public:
  Scratch(const OperatorSpec& spec, int64_t floats) : floats_(in_registers(floats)) {
    const auto threads = static_cast<size_t>(omp_get_max_threads());
    memory_ = static_cast<float*>(spec.scratch);
    if (threads == 1 && spec.scratch_bytes >= static_cast<size_t>(floats_) * sizeof(float)) return;
    own_.resize(threads * static_cast<size_t>(floats_));
    memory_ = own_.data();
  }

  Pieces pieces() const { return Pieces(memory_ + omp_get_thread_num() * floats_); }

 private:
  const int64_t floats_;
  std::vector<float> own_;
  float* memory_;
};

// Asks for rows of a head that are read or written soon. They lie so far apart that a processor does not foresee them; they come into the
// second cache, for the nearest is full of panels.
template <class T> void prefetch_rows(const T* from, int64_t stride, const Extents& e, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t t = 0; t < count; ++t, from += stride) {
    for (int64_t f = 0; f < e.width; f += kLine) __builtin_prefetch(from + f, 0, 2);
  }
}

// From one row of features to the next, where an item holds features that follow each other.
template <class Item> int64_t feature_row(const Extents& e) { return in_registers(items_for<Item>(e.width)); }

// Rows of one head as items of features that follow each other, zeros behind the last one. `stride` is that of the rows in memory.
template <class Item, class T> void copy_rows(const T* from, int64_t stride, Item* to, const Extents& e, int64_t count) {
  const int64_t row = feature_row<Item>(e);
  for (int64_t t = 0; t < count; ++t, from += stride, to += row) {
    for (int64_t at = 0; at < row; at += kLanes) {
      const int64_t feature = at * kValues<Item>;
      store(to + at, load_items<Item>(from + feature, e.width - feature));
    }
  }
}

// (length, width) as (items of features, column), zeros behind the last position and feature: squares of a register's lanes a side are
// transposed in registers.
template <class Item, class T> void copy_across(const T* from, int64_t stride, Item* to, const Extents& e) {
  const int64_t elements = items_for<Item>(e.width);
  for (int64_t f = 0; f < elements; f += kLanes) {
    const int64_t feature = f * kValues<Item>;
    for (int64_t t = 0; t < e.length; t += kLanes) {
      Floats square[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        square[i] = Floats{};
        if (t + i < e.length) square[i] = reinterpret_cast<Floats>(load_items<Item>(from + (t + i) * stride + feature, e.width - feature));
      }
      transpose(square);
      for (int i = 0; i < kLanes && f + i < elements; ++i)
        store(to + (f + i) * e.column + t, reinterpret_cast<decltype(load(to))>(square[i]));
    }
  }
}

// (count, width) as (items of positions, row), zeros behind the last position and feature.
template <class Item, class T> void copy_together(const T* from, int64_t stride, Item* to, const Extents& e, int64_t count) {
  constexpr int64_t kTogether = kValues<Item>;
  for (int64_t t = 0; t < count; t += kTogether, from += kTogether * stride, to += e.row) {
    for (int64_t f = 0; f < e.width; f += kLanes) {
      Floats rows[kTogether] = {};
      for (int64_t i = 0; i < kTogether && t + i < count; ++i) rows[i] = load_items<float>(from + i * stride + f, e.width - f);
      store_together(to + f, rows);
    }
  }
}

// A register of features, the first of which is `feature`.
template <class T> inline void store_features(T* to, Floats value, int64_t feature, const Extents& e) {
  if (e.width - feature >= kLanes)
    store(to + feature, value);
  else
    store(to + feature, value, static_cast<int>(e.width - feature));
}

// Zeros in `count` rows.
template <class T> void zero_rows(T* to, int64_t stride, const Extents& e, int64_t count) {
  for (int64_t t = 0; t < count; ++t, to += stride) {
    for (int64_t f = 0; f < e.width; f += kLanes) store_features(to, Floats{}, f, e);
  }
}

inline int64_t heads_of(const Shapes& shapes, int64_t features) {
  const int64_t heads = shapes.whole("heads", 1, features);
  if (features % heads != 0) shapes.refuse("heads", std::to_string(heads), "give a divisor of " + std::to_string(features));
  return heads;
}

// Of a kernel class whose function `floats` answers what a head needs.
template <template <class> class Typed> static size_t scratch_of(const Shapes& shapes, const LoweringAnswer& answer) {
  const Extents extents(shapes.input(0), shapes.whole("heads", 1, shapes.input(0)[2] / 3));
  const int64_t floats = for_type(answer.inputs[0].type, [&]<class T>() { return Typed<T>::floats(extents); });
  return static_cast<size_t>(in_registers(floats)) * sizeof(float);
}

// Full attention may have the lengths of the sequences (N) as its last input.
inline std::vector<Port> with_lengths(std::vector<Port> ports, bool causal) {
  if (!causal) ports.push_back({"lengths", Role::parameter, true});
  return ports;
}

}  // namespace arbalest::kernels::attention
