// The gradient of self-attention, a head at a time by one thread. Queries come in blocks, so that at most the probabilities of one block
// are in memory, and in them in tiles.
#include "cpu/kernels/attention.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/exponential.h"

namespace arbalest::kernels {
namespace {

using namespace attention;

// Queries whose probabilities are in memory together: whole tiles for every instruction set. Short sequences are one block, which leaves
// no sums in memory.
constexpr int64_t kBlock = 48, kWhole = 144;
static_assert(kBlock % kTileRows == 0);

int64_t block_of(int64_t length) { return length <= kWhole ? length : kBlock; }

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
    const int64_t together = items_for<Item>(block_of(e.length));
    return 2 * items_for<Item>(e.width) * e.column + items_for<Item>(e.length) * e.row + 2 * kTileRows * (feature_row<Item>(e) + e.column) +
           2 * together * (e.row + e.column) + (e.length > kWhole ? 2 * e.length * e.row : 0);
  }

  void run(const StepContext&) override {
    for_each(e_.items(), e_.work(), [&](int64_t item) { run_head(item); });
  }

 private:
  using Item = ItemOf<T>;
  static constexpr int64_t kTogether = kValues<Item>;  // rows of queries

  void run_head(int64_t item) const {
    Pieces pieces = scratch_.pieces();
    const Extents e = e_.of(lengths_, item / e_.heads);
    const int64_t block = block_of(e_.length), together = items_for<Item>(block);
    const int64_t depth = items_for<Item>(e.width), query_row = feature_row<Item>(e);
    Item* const keys_across = pieces.take<Item>(depth * e.column);                             // (items of features, column)
    Item* const values_across = pieces.take<Item>(depth * e.column);                           // (items of features, column)
    Item* const keys = pieces.take<Item>(items_for<Item>(e.length) * e.row);                   // (items of positions, row)
    Item* const tile_queries = pieces.take<Item>(kTileRows * query_row);                       // (tile, items of features)
    Item* const tile_gradients = pieces.take<Item>(kTileRows * query_row);                     // (tile, items of features)
    float* const scores = pieces.take<float>(kTileRows * e.column);                            // (tile, column)
    float* const products = pieces.take<float>(kTileRows * e.column);                          // (tile, column)
    Item* const queries = pieces.take<Item>(together * e.row);                                 // (items of the block's queries, row)
    Item* const gradients = pieces.take<Item>(together * e.row);                               // (items of the block's queries, row)
    Item* const shares = pieces.take<Item>(together * e.column);                               // (items of the block's queries, column)
    Item* const gscores = pieces.take<Item>(together * e.column);                              // (items of the block's queries, column)
    float* const gkeys = e.length > block ? pieces.take<float>(e.length * e.row) : nullptr;    // (length, row)
    float* const gvalues = e.length > block ? pieces.take<float>(e.length * e.row) : nullptr;  // (length, row)
    const int64_t stride = 3 * e.features, next = e_.after(item), result = e_.result_of(item), next_result = e_.result_of(next);
    const T *const qkv = qkv_ + e_.qkv_of(item), *const next_qkv = qkv_ + e_.qkv_of(next);
    T *const gqkv = gqkv_ + e_.qkv_of(item), *const next_gqkv = gqkv_ + e_.qkv_of(next);
    const float* const log_sums = log_sums_ + e_.positions_of(item);
    copy_across(qkv + e.features, stride, keys_across, e);
    copy_across(qkv + 2 * e.features, stride, values_across, e);
    copy_together(qkv + e.features, stride, keys, e, e.length);
    for (int64_t first = 0; first < e.length; first += block) {
      const int64_t count = std::min(block, e.length - first), end = first + count;
      copy_together(qkv + first * stride, stride, queries, e, count);
      copy_together(gy_ + result + first * e.features, e.features, gradients, e, count);
      for (int64_t i = 0; i < count; i += kTileRows) {
        const Tile tile(e, Causal, first + i, end);
        const int64_t row = tile.first * e.features;
        const T *const gy = gy_ + result + row, *const y = y_ + result + row;
        for (int64_t part = 0; part < 3; ++part) prefetch_rows(next_qkv + 3 * row + part * e.features, stride, e, tile.rows);
        copy_rows(qkv + tile.first * stride, stride, tile_queries, e, tile.rows);
        copy_rows(gy, e.features, tile_gradients, e, tile.rows);
        product({tile_queries, query_row, 1}, keys_across, e.column, tile.rows, tile.columns(), depth,
                [&](int64_t row, int64_t column, Floats sums) { store(scores + row * e.column + column, sums); });
        prefetch_rows(gy_ + next_result + row, e.features, e, tile.rows);
        prefetch_rows(y_ + next_result + row, e.features, e, tile.rows);
        product({tile_gradients, query_row, 1}, values_across, e.column, tile.rows, tile.columns(), depth,
                [&](int64_t row, int64_t column, Floats sums) { store(products + row * e.column + column, sums); });
        Item* const block_gscores = gscores + i / kTogether * e.column;
        differentiate(scores, products, shares + i / kTogether * e.column, block_gscores, e, tile,
                      load(log_sums + tile.first, static_cast<int>(tile.rows)), dots(gy, y, tile.rows));
        const Item* const rows = kPaired<Item> ? reinterpret_cast<const Item*>(products) : block_gscores;
        for (int64_t part = 0; part < 3; ++part) prefetch_rows(next_gqkv + 3 * row + part * e.features, stride, e, tile.rows);
        product({rows, e.column, 1}, keys, e.row, tile.rows, e.row, items_for<Item>(tile.seen),
                [&](int64_t row, int64_t column, Floats sums) {
                  store_features(gqkv + (tile.first + row) * stride, sums * e.scale, column, e);
                });
      }
      add_block(shares, gradients, gvalues, gqkv + 2 * e.features, e, first, count, 1);
      add_block(gscores, queries, gkeys, gqkv + e.features, e, first, count, e.scale);
    }
    for (int64_t part = 0; part < 3; ++part) zero_rows(gqkv + e.length * stride + part * e.features, stride, e, e_.length - e.length);
  }

  // Adds a block's share of the gradient of keys or values to `sums`: of each tile of positions by those queries of the block that see it.
  // The last block gives the result, times `scale`.
  static void add_block(const Item* scores, const Item* queries, float* sums, T* to, const Extents& e, int64_t first, int64_t count,
                        float scale) {
    const int64_t end = first + count, stride = 3 * e.features;
    const bool last = end == e.length;
    for (int64_t s = 0; s < (Causal ? end : e.length); s += kTileRows) {
      const bool begins = Causal ? s >= first : first == 0;
      const int64_t start = Causal && begins ? s - first : 0, rows = std::min<int64_t>(kTileRows, (Causal ? end : e.length) - s);
      product({scores + start / kTogether * e.column + s, 1, e.column}, queries + start / kTogether * e.row, e.row, rows, e.row,
              items_for<Item>(count - start), [&](int64_t row, int64_t column, Floats sum) {
                const int64_t at = (s + row) * e.row + column;
                if (!begins) sum += load(sums + at);
                if (last)
                  store_features(to + (s + row) * stride, sum * scale, column, e);
                else
                  store(sums + at, sum);
              });
    }
  }

  // gy . y of each row.
  Floats dots(const T* gy, const T* y, int64_t rows) const {
    Floats sums[kLanes] = {};
    for (int64_t i = 0; i < rows; ++i, gy += e_.features, y += e_.features) {
      for_each_register(0, e_.width, [&]<bool Partial>(int64_t at, int width) {
        sums[i] += load<Partial>(gy + at, width) * load<Partial>(y + at, width);
      });
    }
    return totals_of_each(sums);
  }

  // Scores become probabilities, and products with the values the gradients of the scores; zeros where a row sees nothing.
  static void differentiate(const float* scores, float* products, Item* shares, Item* gscores, const Extents& e, const Tile& tile,
                            Floats log_sums, Floats means) {
    const float scale = e.scale * kLog2OfE;
    log_sums = log_sums * (1 / e.scale);
    for (int64_t i = 0; i < tile.rows; i += kTogether, shares += e.column, gscores += e.column) {
      // A pair's second row may be none.
      const int64_t whole = i + kTogether <= tile.rows ? tile.seen_by_all() : 0;
      for_each_column(whole, tile.columns(), [&]<bool Masked>(int64_t at) {
        Floats share[kTogether], gscore[kTogether];
#pragma GCC unroll 2
        for (int j = 0; j < kTogether; ++j) {
          const float *const own = scores + (i + j) * e.column + at, *const product = products + (i + j) * e.column + at;
          share[j] = power_of_two((load(own) - all(log_sums[i + j])) * scale);
          gscore[j] = share[j] * (load(product) - all(means[i + j]));
          if constexpr (Masked) {
            const Ints seen = lanes_seen(i + j < tile.rows ? tile.seen_by(i + j) : 0, at);
            share[j] = seen ? share[j] : Floats{};
            gscore[j] = seen ? gscore[j] : Floats{};
          }
        }
        store_together(shares + at, share);
        store_together(gscores + at, gscore);
        if constexpr (kPaired<Item>) {
          for (int j = 0; j < kTogether; ++j) store(reinterpret_cast<bf16*>(products + (i + j) * e.column) + at, gscore[j]);
        }
      });
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

void check(const Shapes& shapes) {
  shapes.input_rank(1, 3);
  const Shape& y = shapes.input(1);
  const int64_t heads = heads_of(shapes, y[2]);
  shapes.input_is(0, {y[0], y[1], 3 * y[2]});
  shapes.input_is(2, {y[0], heads, y[1]});
  shapes.input_is(3, y);
  if (shapes.has_input(4)) shapes.input_is(4, {y[0]});
  shapes.output_is(0, {y[0], y[1], 3 * y[2]});
}

template <class T> using CausalAttentionBackward = AttentionBackward<T, true>;
template <class T> using FullAttentionBackward = AttentionBackward<T, false>;

template <template <class> class Typed> Operator gradient_of(const char* kind, bool causal) {
  using enum Role;
  return {kind,
          with_lengths({{"qkv", canonical}, {"y", canonical}, {"logSum", parameter}, {"gy", canonical}}, causal),
          {{"gqkv", canonical}},
          check,
          make_typed<Typed>,
          {},
          scratch_of<Typed>};
}

const Registered kRegistered{{
    gradient_of<CausalAttentionBackward>("causalSelfAttentionBackward", true),
    gradient_of<FullAttentionBackward>("selfAttentionBackward", false),
}};

}  // namespace
}  // namespace arbalest::kernels
