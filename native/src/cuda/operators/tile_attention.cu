#include "cuda/operators/tile_attention.h"

#include <cmath>
#include <limits>

#include "cuda/operators/attention_tiles.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

constexpr int kWidestHead = 128;

// A block has 128 queries. Its keys and values come in stages, of which the next one is under way while one is used.
template <int W, bool Causal> struct TileAttention {
  static constexpr int kMinBlocks = W > 64 ? 1 : 2;
  static constexpr int kKeys = W > 64 ? 32 : 64;
  using InShared = HeadLines<W>;
  // What a warp has of its 16 queries: exp(score - highest) times the values, summed over the keys so far, the highest score, and the
  // lane's part of the sum of exp(score - highest).
  struct Own {
    WarpTile sums[W / kTile];
    WarpRows highest, total;
  };

  Heads of;
  const Bf16* qkv;       // (N, T, 3, heads, width)
  const float* lengths;  // (N) or null
  Bf16* y;               // (N, T, heads, width)
  float* log_sum;        // (N, heads, T) or null
  float scale;           // of a score, to the power of 2

  EVERYWHERE size_t shared_bytes() const { return sizeof(Bf16) * (kPlaces + 4 * kKeys) * InShared::kLine; }
  EVERYWHERE int phases() const { return 1 + (of.length + kKeys - 1) / kKeys; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own& own) const {
    const HeadPlaces places(of, lengths, block.cluster, true);
    auto* const queries = reinterpret_cast<Bf16*>(block.own());
    if (phase == 0) {
      for (WarpTile& sum : own.sums) sum.clear();
      own.highest.fill(-std::numeric_limits<float>::infinity());
      own.total.fill(0);
      InShared::begin_copies({qkv, 3, 0}, {}, of, places, places.first, kPlaces, queries, thread);
    }
    begin_stage(phase, places, queries, thread);
    if (phase > 0) add(phase - 1, places, queries, thread, own);
    await_copies<0>();
    if (phase + 1 == phases()) finish(places, thread, own);
  }

 private:
  // Keys that some query of the block sees.
  EVERYWHERE int end(const HeadPlaces& places) const {
    if (places.first >= places.count) return 0;
    return Causal && places.first + kPlaces < places.count ? places.first + kPlaces : places.count;
  }
  // The keys of a stage; its values follow.
  EVERYWHERE static Bf16* at_stage(int stage, Bf16* queries) { return queries + (kPlaces + stage % 2 * 2 * kKeys) * InShared::kLine; }

  EVERYWHERE void begin_stage(int stage, const HeadPlaces& places, Bf16* queries, int thread) const {
    if (stage * kKeys < end(places))
      InShared::begin_copies({qkv, 3, 1}, {qkv, 3, 2}, of, places, stage * kKeys, kKeys, at_stage(stage, queries), thread);
    end_of_copies();
  }

  EVERYWHERE void add(int stage, const HeadPlaces& places, Bf16* queries, int thread, Own& own) const {
    const int lane = thread % 32, line = thread / 32 * kTile, first = places.first + line, key = stage * kKeys;
    if (key >= end(places) || first >= places.count || (Causal && key >= first + kTile)) return;
    const Bf16 *const keys = at_stage(stage, queries), *const values = keys + kKeys * InShared::kLine;
    WarpTile scores[kKeys / kTile];
    score(queries, line, keys, lane, scores);
    hide(places, first, key, lane, scores);
    weigh(lane, scores, own);
    WHOLLY_UNROLLED
    for (int k = 0; k < kKeys; k += kTile) {
      const RoundedTile probabilities(scores[k / kTile], lane);
      const auto mixed = InShared::template right<Lines::rows>(values, k, lane);
      WHOLLY_UNROLLED
      for (int c = 0; c < W; c += kTile) add_product(own.sums[c / kTile], probabilities, mixed.at(c), lane);
    }
  }

  EVERYWHERE static void score(const Bf16* queries, int line, const Bf16* keys, int lane, WarpTile (&scores)[kKeys / kTile]) {
    const auto left = InShared::left(queries, line, lane);
    WHOLLY_UNROLLED
    for (int k = 0; k < kKeys; k += kTile) {
      const auto right = InShared::template right<Lines::columns>(keys, k, lane);
      WarpTile& sum = scores[k / kTile];
      sum.clear();
      WHOLLY_UNROLLED
      for (int c = 0; c < W; c += kTile) add_product(sum, left.at(c), right.at(c), lane);
    }
  }

  EVERYWHERE static void hide(const HeadPlaces& places, int first, int key, int lane, WarpTile (&scores)[kKeys / kTile]) {
    WHOLLY_UNROLLED
    for (int k = 0; k < kKeys; k += kTile)
      each_element(lane, [&](int i, int row, int column, int) {
        const int t = first + row, s = key + k + column;
        if (t >= places.count || s >= places.count || (Causal && s > t)) scores[k / kTile].at[i] = -std::numeric_limits<float>::infinity();
      });
  }

  // Scores become their exponentials, and what the warp had before is brought to the same highest score.
  EVERYWHERE void weigh(int lane, WarpTile (&scores)[kKeys / kTile], Own& own) const {
    WarpRows highest = own.highest;
    WHOLLY_UNROLLED
    for (int k = 0; k < kKeys / kTile; ++k)
      each_element(lane, [&](int i, int, int, int r) { highest.at[r] = fmaxf(highest.at[r], scores[k].at[i]); });
    combine_lanes(highest, [](float a, float b) { return fmaxf(a, b); });
    WarpRows level, factor;
    WHOLLY_UNROLLED
    for (int r = 0; r < WarpRows::kRows; ++r) {
      // A query that has seen none so far has no highest score to subtract.
      level.at[r] = highest.at[r] == -std::numeric_limits<float>::infinity() ? 0 : scale * highest.at[r];
      factor.at[r] = exp2f(scale * own.highest.at[r] - level.at[r]);
      own.total.at[r] *= factor.at[r];
    }
    own.highest = highest;
    WHOLLY_UNROLLED
    for (int k = 0; k < kKeys / kTile; ++k)
      each_element(lane, [&](int i, int, int, int r) {
        float& value = scores[k].at[i];
        value = exp2f(scale * value - level.at[r]);
        own.total.at[r] += value;
      });
    WHOLLY_UNROLLED
    for (WarpTile& sum : own.sums) each_element(lane, [&](int i, int, int, int r) { sum.at[i] *= factor.at[r]; });
  }

  EVERYWHERE void finish(const HeadPlaces& places, int thread, const Own& own) const {
    const int lane = thread % 32, first = places.first + thread / 32 * kTile;
    WarpRows total = own.total, inverse;
    combine_lanes(total, [](float a, float b) { return a + b; });
    WHOLLY_UNROLLED
    for (int r = 0; r < WarpRows::kRows; ++r) inverse.at[r] = total.at[r] == 0 ? 0 : 1 / total.at[r];
    InShared::write_rows(own.sums, inverse, of, places, first, y, 1, 0, lane);
    if (!log_sum) return;
    each_pair(lane, [&](int, int row, int column, int r) {
      if (column != 0 || first + row >= of.length) return;
      const float sum = total.at[r] == 0 ? 0 : scale / kLog2e * own.highest.at[r] + logf(total.at[r]);
      log_sum[places.row(of, first + row)] = sum;
    });
  }
};

}  // namespace

bool is_tile_attention(Type precision, const Shape& features, const Attributes& attributes) {
  if (precision != Type::bf16) return false;
  const Heads of(features, attributes);
  return of.width % 8 == 0 && of.width <= kWidestHead;
}

template <bool Causal> MadeKernel make_tile_attention(const OperatorSpec& spec, DeviceStream& stream) {
  const Heads of(spec.outputs[0].shape(), spec.attributes);
  return by_head_width(of.width, [&]<int W>(std::integral_constant<int, W>) {
    const TileAttention<W, Causal> program{of,
                                           spec.inputs[0].as<Bf16>(),
                                           Causal ? nullptr : spec.inputs[1].as<float>(),
                                           spec.outputs[0].as<Bf16>(),
                                           spec.outputs[1].as<float>(),
                                           kLog2e / std::sqrt(static_cast<float>(of.width))};
    return queued([&stream, program] { clusters(stream, HeadPlaces::blocks(program.of), 1, program); });
  });
}

template MadeKernel make_tile_attention<true>(const OperatorSpec& spec, DeviceStream& stream);
template MadeKernel make_tile_attention<false>(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
