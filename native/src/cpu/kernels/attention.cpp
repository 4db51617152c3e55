// Self-attention, causal, over all positions, or over those before each sequence's length, and its gradient, a head at a time by one
// thread: Vaswani et al., "Attention is all you need", NeurIPS 2017.
//
// Queries come in blocks of rows, so that at most the scores of one block are in memory. The forward pass keeps
// the logarithm of each row's sum, from which the backward pass computes the probabilities again (as FlashAttention does: Dao et al.,
// NeurIPS 2022).
#include <algorithm>
#include <cmath>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/exponential.h"
#include "cpu/kernels/logarithm.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/product.h"
#include "cpu/sequence_length.h"

namespace arbalest::kernels {
namespace {

// Queries whose scores are in memory together: whole tiles for every instruction set. In causal attention each tile sees columns of its
// own.
constexpr int64_t kBlock = 24;
constexpr float kMasked = -1e30f;
// What belongs to the rows of a tile fits into the lanes of a register.
static_assert(kTileRows <= kLanes && kBlock % kTileRows == 0);

// Elements from one row of scores to the next: an odd number of registers, since rows a power of two apart share few sets of the nearest
// cache.
int64_t apart(int64_t length) { return in_registers(length) / kLanes % 2 == 0 ? in_registers(length) + kLanes : in_registers(length); }

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

  int64_t items() const { return samples * heads; }
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

// Queries [first, first + rows), which together see the first `seen` positions.
struct Tile {
  Tile(const Extents& e, bool causal_, int64_t first_, int64_t end)
      : causal(causal_), first(first_), rows(std::min<int64_t>(kTileRows, end - first)), seen(causal ? first + rows : e.length) {}

  const bool causal;
  const int64_t first, rows, seen;

  int64_t columns() const { return in_registers(seen); }
  int64_t seen_by(int64_t row) const { return causal ? first + row + 1 : seen; }
  // Zeros in the registers of a row that it sees nothing of, up to column `end`.
  void clear_unseen(float* scores, int64_t row, int64_t end) const {
    for (int64_t at = in_registers(seen_by(row)); at < end; at += kLanes) store(scores + at, Floats{});
  }
};

// Scratch of one head, cut from one piece of memory.
class Pieces {
 public:
  explicit Pieces(float* memory) : next_(memory) {}
  float* take(int64_t floats) { return std::exchange(next_, next_ + in_registers(floats)); }

 private:
  float* next_;
};

// Rows [first, first + count) of one head as floats, times `scale`, zeros behind the last feature. `stride` is that of the rows in memory.
template <class T> void copy_rows(const T* from, int64_t stride, float* to, const Extents& e, int64_t count, float scale) {
  for (int64_t t = 0; t < count; ++t, from += stride, to += e.row) {
    for_each_register(0, e.width, [&]<bool Partial>(int64_t at, int width) {
      Floats value = load<Partial>(from + at, width) * scale;
      if constexpr (Partial) value = lane_numbers() < width ? value : Floats{};
      store(to + at, value);
    });
  }
}

// (length, width) as (width, column), zeros behind the last position: squares of a register's lanes a side are transposed in registers.
template <class T> void copy_transposed(const T* from, int64_t stride, float* to, const Extents& e) {
  for (int64_t f = 0; f < e.width; f += kLanes) {
    const int features = static_cast<int>(std::min<int64_t>(kLanes, e.width - f));
    for (int64_t t = 0; t < e.length; t += kLanes) {
      Floats square[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const T* row = from + (t + i) * stride + f;
        square[i] = t + i >= e.length ? Floats{} : features == kLanes ? load(row) : load(row, features);
      }
      transpose(square);
      for (int i = 0; i < features; ++i) store(to + (f + i) * e.column + t, square[i]);
    }
  }
}

template <class T> void store_rows(const float* from, T* to, int64_t stride, const Extents& e, int64_t count, float scale) {
  for (int64_t t = 0; t < count; ++t, from += e.row, to += stride) {
    for_each_register(0, e.width, [&]<bool Partial>(int64_t at, int width) { store<Partial>(to + at, load(from + at) * scale, width); });
  }
}

// Zeros in `count` rows.
template <class T> void zero_rows(T* to, int64_t stride, const Extents& e, int64_t count) {
  for (int64_t t = 0; t < count; ++t, to += stride) {
    for_each_register(0, e.width, [&]<bool Partial>(int64_t at, int width) { store<Partial>(to + at, Floats{}, width); });
  }
}

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

// `Causal`: a position sees those up to itself; else all, or all before the length of its sequence; those behind see none and give zeros.
template <class T, bool Causal> class Attention final : public Kernel {
 public:
  explicit Attention(const OperatorSpec& spec)
      : e_(spec.inputs[0].shape(), static_cast<int64_t>(spec.attributes.number("heads"))),
        qkv_(input<T>(spec, 0)),
        lengths_(Causal ? nullptr : input<float>(spec, 1)),
        y_(output<T>(spec, 0)),
        log_sums_(output<float>(spec, 1)),
        scratch_(spec, floats(e_)) {}

  static int64_t floats(const Extents& e) {
    return in_registers(e.width * e.column) + e.length * e.row + kTileRows * (2 * e.row + e.column);
  }

  void run(const StepContext&) override {
    for_each(e_.items(), e_.work(), [&](int64_t item) { run_head(item / e_.heads, item % e_.heads); });
  }

 private:
  void run_head(int64_t sample, int64_t head) const {
    Pieces pieces = scratch_.pieces();
    const Extents e = e_.of(lengths_, sample);
    float* const keys = pieces.take(e.width * e.column);      // (width, column)
    float* const values = pieces.take(e.length * e.row);      // (length, row)
    float* const queries = pieces.take(kTileRows * e.row);    // (tile, row)
    float* const scores = pieces.take(kTileRows * e.column);  // (tile, column)
    float* const sums = pieces.take(kTileRows * e.row);       // (tile, row)
    const int64_t stride = 3 * e.features, begin = sample * e_.length, rows = (sample * e.heads + head) * e_.length;
    const T* qkv = qkv_ + begin * stride + head * e.width;
    T* const y = y_ + begin * e.features + head * e.width;
    copy_transposed(qkv + e.features, stride, keys, e);
    copy_rows(qkv + 2 * e.features, stride, values, e, e.length, 1);
    for (int64_t first = 0; first < e.length; first += kTileRows) {
      const Tile tile(e, Causal, first, e.length);
      copy_rows(qkv + first * stride, stride, queries, e, tile.rows, e.scale);
      product<false>({queries, e.row, 1}, keys, e.column, scores, e.column, tile.rows, tile.columns(), e.width);
      const Floats totals = exponentiate(scores, e.column, tile, log_sums_ ? log_sums_ + rows + first : nullptr);
      product<false>({scores, e.column, 1}, values, e.row, sums, e.row, tile.rows, e.row, tile.seen);
      float shares[kLanes];
      store(shares, 1.0f / totals);
      for (int64_t i = 0; i < tile.rows; ++i) store_rows(sums + i * e.row, y + (first + i) * e.features, 0, e, 1, shares[i]);
    }
    zero_rows(y + e.length * e.features, e.features, e, e_.length - e.length);
    if (log_sums_) std::fill_n(log_sums_ + rows + e.length, e_.length - e.length, 0.0f);
  }

  // Replaces the scores that a row sees by e to the power of each minus the highest, and the others by zeros. Returns the sum of each row.
  static Floats exponentiate(float* scores, int64_t stride, const Tile& tile, float* log_sums) {
    Floats highest[kLanes] = {}, sums[kLanes] = {};
    for (int64_t i = 0; i < tile.rows; ++i) {
      highest[i] = all(kMasked);
      for_each_register(0, tile.seen_by(i), [&]<bool Partial>(int64_t at, int width) {
        Floats score = load(scores + i * stride + at);
        if constexpr (Partial) score = lane_numbers() < width ? score : all(kMasked);
        highest[i] = score > highest[i] ? score : highest[i];
      });
    }
    const Floats most = highest_of_each(highest);
    for (int64_t i = 0; i < tile.rows; ++i) {
      const Floats own = all(most[i]);
      Floats sum{};
      for_each_register(0, tile.seen_by(i), [&]<bool Partial>(int64_t at, int width) {
        Floats power = exponential(load(scores + i * stride + at) - own);
        if constexpr (Partial) power = lane_numbers() < width ? power : Floats{};
        store(scores + i * stride + at, power);
        sum += power;
      });
      sums[i] = sum;
      tile.clear_unseen(scores + i * stride, i, tile.columns());
    }
    const Floats totals = totals_of_each(sums);
    // A total that is not a number has no logarithm.
    if (log_sums) store(log_sums, totals == totals ? logarithm(totals) + most : totals, static_cast<int>(tile.rows));
    return totals;
  }

  const Extents e_;
  const T* qkv_;          // (N, T, 3F)
  const float* lengths_;  // (N) or null
  T* y_;                  // (N, T, F)
  float* log_sums_;       // (N, heads, T) or null
  const Scratch scratch_;
};

// With p the probabilities, d_ts = gy_t . v_s and D_t = gy_t . y_t: the score's gradient is p_ts (d_ts - D_t).
template <class T, bool Causal> class AttentionBackward final : public Kernel {
 public:
  explicit AttentionBackward(const OperatorSpec& spec)
      : e_(spec.inputs[0].shape(), static_cast<int64_t>(spec.attributes.number("heads"))),
        qkv_(input<T>(spec, 0)),
        y_(input<T>(spec, 1)),
        log_sums_(input<float>(spec, 2)),
        gy_(input<T>(spec, 3)),
        lengths_(Causal ? nullptr : input<float>(spec, 4)),
        gqkv_(output<T>(spec, 0)),
        scratch_(spec, floats(e_)) {}

  static int64_t floats(const Extents& e) {
    return 2 * in_registers(e.width * e.column) + 4 * e.length * e.row + (kTileRows + kBlock) * e.row + 2 * kBlock * e.column;
  }

  void run(const StepContext&) override {
    for_each(e_.items(), e_.work(), [&](int64_t item) { run_head(item / e_.heads, item % e_.heads); });
  }

 private:
  void run_head(int64_t sample, int64_t head) const {
    Pieces pieces = scratch_.pieces();
    const Extents e = e_.of(lengths_, sample);
    float* const keys_across = pieces.take(e.width * e.column);    // (width, column)
    float* const values_across = pieces.take(e.width * e.column);  // (width, column)
    float* const queries = pieces.take(e.length * e.row);          // (length, row), scaled
    float* const keys = pieces.take(e.length * e.row);             // (length, row)
    float* const gkeys = pieces.take(e.length * e.row);            // (length, row)
    float* const gvalues = pieces.take(e.length * e.row);          // (length, row)
    float* const gqueries = pieces.take(kTileRows * e.row);        // (tile, row)
    float* const gradients = pieces.take(kBlock * e.row);          // (block, row)
    float* const shares = pieces.take(kBlock * e.column);          // (block, column): probabilities
    float* const gscores = pieces.take(kBlock * e.column);         // (block, column)
    const int64_t stride = 3 * e.features, begin = sample * e_.length * stride + head * e.width;
    const T* qkv = qkv_ + begin;
    T* gqkv = gqkv_ + begin;
    copy_rows(qkv, stride, queries, e, e.length, e.scale);
    copy_rows(qkv + e.features, stride, keys, e, e.length, 1);
    copy_transposed(qkv + e.features, stride, keys_across, e);
    copy_transposed(qkv + 2 * e.features, stride, values_across, e);
    std::fill_n(gkeys, e.length * e.row, 0.0f);
    std::fill_n(gvalues, e.length * e.row, 0.0f);
    for (int64_t first = 0; first < e.length; first += kBlock) {
      const int64_t count = std::min(kBlock, e.length - first), seen = Causal ? first + count : e.length;
      const int64_t result = (sample * e_.length + first) * e.features + head * e.width;
      copy_rows(gy_ + result, e.features, gradients, e, count, 1);
      for (int64_t i = 0; i < count; i += kTileRows) {
        const Tile tile(e, Causal, first + i, first + count);
        const float* const gy = gradients + i * e.row;
        float *const share = shares + i * e.column, *const gscore = gscores + i * e.column;
        product<false>({queries + tile.first * e.row, e.row, 1}, keys_across, e.column, share, e.column, tile.rows, tile.columns(),
                       e.width);
        product<false>({gy, e.row, 1}, values_across, e.column, gscore, e.column, tile.rows, tile.columns(), e.width);
        const float* const log_sums = log_sums_ + (sample * e.heads + head) * e_.length + tile.first;
        differentiate(share, gscore, e.column, tile, seen, load(log_sums, static_cast<int>(tile.rows)),
                      dots(gy, y_ + result + i * e.features, tile.rows));
        product<false>({gscore, e.column, 1}, keys, e.row, gqueries, e.row, tile.rows, e.row, tile.seen);
        store_rows(gqueries, gqkv + tile.first * stride, stride, e, tile.rows, e.scale);
      }
      product<true>({shares, 1, e.column}, gradients, e.row, gvalues, e.row, seen, e.row, count);
      product<true>({gscores, 1, e.column}, queries + first * e.row, e.row, gkeys, e.row, seen, e.row, count);
    }
    store_rows(gkeys, gqkv + e.features, stride, e, e.length, 1);
    store_rows(gvalues, gqkv + 2 * e.features, stride, e, e.length, 1);
    for (int64_t part = 0; part < 3; ++part) zero_rows(gqkv + e.length * stride + part * e.features, stride, e, e_.length - e.length);
  }

  // gy . y of each row.
  Floats dots(const float* gradients, const T* y, int64_t rows) const {
    Floats sums[kLanes] = {};
    for (int64_t i = 0; i < rows; ++i, gradients += e_.row, y += e_.features) {
      for_each_register(0, e_.width,
                        [&]<bool Partial>(int64_t at, int width) { sums[i] += load(gradients + at) * load<Partial>(y + at, width); });
    }
    return totals_of_each(sums);
  }

  // Scores become probabilities, and products with the values the gradients of the scores; zeros where a row sees nothing, up to column
  // `end`.
  static void differentiate(float* scores, float* products, int64_t stride, const Tile& tile, int64_t end, Floats log_sums, Floats means) {
    for (int64_t i = 0; i < tile.rows; ++i, scores += stride, products += stride) {
      const Floats log_sum = all(log_sums[i]), mean = all(means[i]);
      for_each_register(0, tile.seen_by(i), [&]<bool Partial>(int64_t at, int width) {
        Floats share = exponential(load(scores + at) - log_sum), gscore = share * (load(products + at) - mean);
        if constexpr (Partial) {
          share = lane_numbers() < width ? share : Floats{};
          gscore = lane_numbers() < width ? gscore : Floats{};
        }
        store(scores + at, share);
        store(products + at, gscore);
      });
      tile.clear_unseen(scores, i, end);
      tile.clear_unseen(products, i, end);
    }
  }

  const Extents e_;
  const T *qkv_, *y_;      // (N, T, 3F), (N, T, F)
  const float* log_sums_;  // (N, heads, T)
  const T* gy_;            // (N, T, F)
  const float* lengths_;   // (N) or null
  T* gqkv_;                // (N, T, 3F)
  const Scratch scratch_;
};

int64_t heads_of(const Shapes& shapes, int64_t features) {
  const int64_t heads = shapes.whole("heads", 1, features);
  if (features % heads != 0) shapes.refuse("heads", std::to_string(heads), "give a divisor of " + std::to_string(features));
  return heads;
}

void check_forward(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  const Shape& qkv = shapes.input(0);
  if (qkv[2] % 3 != 0) shapes.refuse("shape of input qkv", shown(qkv), "make its last extent three times the features");
  const int64_t heads = heads_of(shapes, qkv[2] / 3);
  if (shapes.has_input(1)) shapes.input_is(1, {qkv[0]});
  shapes.output_is(0, {qkv[0], qkv[1], qkv[2] / 3});
  shapes.output_is(1, {qkv[0], heads, qkv[1]});
}

void check_backward(const Shapes& shapes) {
  shapes.input_rank(1, 3);
  const Shape& y = shapes.input(1);
  const int64_t heads = heads_of(shapes, y[2]);
  shapes.input_is(0, {y[0], y[1], 3 * y[2]});
  shapes.input_is(2, {y[0], heads, y[1]});
  shapes.input_is(3, y);
  if (shapes.has_input(4)) shapes.input_is(4, {y[0]});
  shapes.output_is(0, {y[0], y[1], 3 * y[2]});
}

template <template <class> class Typed> size_t scratch_of(const Shapes& shapes, const LoweringAnswer&) {
  const Extents extents(shapes.input(0), shapes.whole("heads", 1, shapes.input(0)[2] / 3));
  return static_cast<size_t>(in_registers(Typed<float>::floats(extents))) * sizeof(float);
}

template <class T> using CausalAttention = Attention<T, true>;
template <class T> using FullAttention = Attention<T, false>;
template <class T> using CausalAttentionBackward = AttentionBackward<T, true>;
template <class T> using FullAttentionBackward = AttentionBackward<T, false>;

// Full attention may have the lengths of the sequences (N) as its last input.
std::vector<Port> with_lengths(std::vector<Port> ports, bool causal) {
  if (!causal) ports.push_back({"lengths", Role::parameter, true});
  return ports;
}

template <template <class> class Forward> Operator forward(const char* kind, bool causal) {
  using enum Role;
  return {kind,
          with_lengths({{"qkv", canonical}}, causal),
          {{"y", canonical}, {"logSum", parameter, true}},
          check_forward,
          make_typed<Forward>,
          {},
          scratch_of<Forward>};
}

// All rows of a head are read before its gradients are written.
template <template <class> class Backward> Operator backward(const char* kind, bool causal) {
  using enum Role;
  return {kind,
          with_lengths({{"qkv", canonical}, {"y", canonical}, {"logSum", parameter}, {"gy", canonical}}, causal),
          {{"gqkv", canonical}},
          check_backward,
          make_typed<Backward>,
          {},
          scratch_of<Backward>};
}

const Registered kRegistered{{
    forward<CausalAttention>("causalSelfAttention", true),
    backward<CausalAttentionBackward>("causalSelfAttentionBackward", true),
    forward<FullAttention>("selfAttention", false),
    backward<FullAttentionBackward>("selfAttentionBackward", false),
}};

}  // namespace
}  // namespace arbalest::kernels
