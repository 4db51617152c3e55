// Self-attention, causal, over all positions, or over those before each sequence's length, a head at a time by one thread: Vaswani et al.,
// "Attention is all you need", NeurIPS 2017.
//
// Queries come in tiles of rows, so that at most the scores of one tile are in memory. The logarithm of each row's sum is kept, from which
// the backward pass computes the probabilities again (as FlashAttention does: Dao et al., NeurIPS 2022).
#include "cpu/kernels/attention.h"
#include "cpu/kernels/exponential.h"
#include "cpu/kernels/logarithm.h"

namespace arbalest::kernels {
namespace {

using namespace attention;

constexpr float kMasked = -1e30f;

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
    return items_for<Item>(e.width) * e.column + items_for<Item>(e.length) * e.row + kTileRows * (feature_row<Item>(e) + e.column);
  }

  void run(const StepContext&) override {
    for_each(e_.items(), e_.work(), [&](int64_t item) { run_head(item); });
  }

 private:
  using Item = ItemOf<T>;

  void run_head(int64_t item) const {
    Pieces pieces = scratch_.pieces();
    const Extents e = e_.of(lengths_, item / e_.heads);
    const int64_t query_row = feature_row<Item>(e);
    Item* const keys = pieces.take<Item>(items_for<Item>(e.width) * e.column);  // (items of features, column)
    Item* const values = pieces.take<Item>(items_for<Item>(e.length) * e.row);  // (items of positions, row)
    Item* const queries = pieces.take<Item>(kTileRows * query_row);             // (tile, items of features)
    float* const scores = pieces.take<float>(kTileRows * e.column);             // (tile, column)
    const auto* const shares = reinterpret_cast<const Item*>(scores);           // (tile, items of positions)
    const int64_t stride = 3 * e.features;
    const T *qkv = qkv_ + e_.qkv_of(item), *next_qkv = qkv_ + e_.qkv_of(e_.after(item));
    T *const y = y_ + e_.result_of(item), *const next_y = y_ + e_.result_of(e_.after(item));
    float* const log_sums = log_sums_ ? log_sums_ + e_.positions_of(item) : nullptr;
    copy_across(qkv + e.features, stride, keys, e);
    copy_together(qkv + 2 * e.features, stride, values, e, e.length);
    for (int64_t first = 0; first < e.length; first += kTileRows) {
      const Tile tile(e, Causal, first, e.length);
      for (int64_t part = 0; part < 3; ++part) prefetch_rows(next_qkv + part * e.features + first * stride, stride, e, tile.rows);
      copy_rows(qkv + first * stride, stride, queries, e, tile.rows);
      product({queries, query_row, 1}, keys, e.column, tile.rows, tile.columns(), items_for<Item>(e.width),
              [&](int64_t row, int64_t column, Floats sums) { store(scores + row * e.column + column, sums); });
      float inverses[kLanes];
      store(inverses, 1.0f / exponentiate(scores, e, tile, log_sums ? log_sums + first : nullptr));
      prefetch_rows(next_y + first * e.features, e.features, e, tile.rows);
      product({shares, e.column, 1}, values, e.row, tile.rows, e.row, items_for<Item>(tile.seen),
              [&](int64_t row, int64_t column, Floats sums) {
                store_features(y + (first + row) * e.features, sums * inverses[row], column, e);
              });
    }
    zero_rows(y + e.length * e.features, e.features, e, e_.length - e.length);
    if (log_sums) std::fill_n(log_sums + e.length, e_.length - e.length, 0.0f);
  }

  // Replaces the scores that a row sees, times their scale, by e to the power of each minus the highest, and the others by zeros. The
  // powers are numbers of the type that products have, at the beginning of each row's memory. Returns the sum of each row.
  static Floats exponentiate(float* scores, const Extents& e, const Tile& tile, float* log_sums) {
    using Number = std::conditional_t<kPaired<Item>, bf16, float>;
    const int64_t whole = tile.seen_by_all(), columns = tile.columns();
    const float scale = e.scale * kLog2OfE;
    Floats highest[kLanes] = {}, sums[kLanes] = {};
    for (int64_t i = 0; i < tile.rows; ++i) {
      const float* const row = scores + i * e.column;
      const int64_t seen = tile.seen_by(i);
      Floats most = all(kMasked);
      for_each_column(whole, columns, [&]<bool Masked>(int64_t at) {
        Floats score = load(row + at);
        if constexpr (Masked) score = lanes_seen(seen, at) ? score : all(kMasked);
        most = score > most ? score : most;
      });
      highest[i] = most;
    }
    const Floats most = highest_of_each(highest);
    for (int64_t i = 0; i < tile.rows; ++i) {
      const float* const row = scores + i * e.column;
      auto* const powers = reinterpret_cast<Number*>(scores + i * e.column);
      const int64_t seen = tile.seen_by(i);
      const Floats own = all(most[i]);
      Floats sum{};
      for_each_column(whole, columns, [&]<bool Masked>(int64_t at) {
        Floats power = power_of_two((load(row + at) - own) * scale);
        if constexpr (Masked) power = lanes_seen(seen, at) ? power : Floats{};
        store(powers + at, power);
        sum += power;
      });
      sums[i] = sum;
    }
    const Floats totals = totals_of_each(sums);
    if (log_sums) store(log_sums, logarithm(totals) + most * e.scale, static_cast<int>(tile.rows));
    return totals;
  }

  const Extents e_;
  const T* qkv_;          // (N, T, 3F)
  const float* lengths_;  // (N) or null
  T* y_;                  // (N, T, F)
  float* log_sums_;       // (N, heads, T) or null
  const Scratch scratch_;
};

void check(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  const Shape& qkv = shapes.input(0);
  if (qkv[2] % 3 != 0) shapes.refuse("shape of input qkv", shown(qkv), "make its last extent three times the features");
  const int64_t heads = heads_of(shapes, qkv[2] / 3);
  if (shapes.has_input(1)) shapes.input_is(1, {qkv[0]});
  shapes.output_is(0, {qkv[0], qkv[1], qkv[2] / 3});
  shapes.output_is(1, {qkv[0], heads, qkv[1]});
}

template <class T> using CausalAttention = Attention<T, true>;
template <class T> using FullAttention = Attention<T, false>;

template <template <class> class Typed> Operator attention_of(const char* kind, bool causal) {
  using enum Role;
  return {kind,
          with_lengths({{"qkv", canonical}}, causal),
          {{"y", canonical}, {"logSum", parameter, true}},
          check,
          make_typed<Typed>,
          {},
          scratch_of<Typed>};
}

const Registered kRegistered{{
    attention_of<CausalAttention>("causalSelfAttention", true),
    attention_of<FullAttention>("selfAttention", false),
}};

}  // namespace
}  // namespace arbalest::kernels
