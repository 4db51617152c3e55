#include <cmath>

#include "cuda/operators/attention_tiles.h"
#include "cuda/operators/buffers.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/tile_attention.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

// The mean of each query's gradients of probabilities, weighted by these: the sum of gy * y.
struct MeanGradients {
  using Sum = float;

  Heads of;
  const Bf16* y;         // (N, T, heads, width)
  const Bf16* gy;        // (N, T, heads, width)
  const float* lengths;  // (N) or null
  float* means;          // (N, heads, T)

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    const int t = static_cast<int>(row % of.length), matrix = static_cast<int>(row / of.length);
    const int sequence = matrix / of.heads, head = matrix % of.heads;
    if (t >= places_of(lengths, sequence, of.length)) return 0;
    const int64_t first = Features{y, 1, 0}.at(of, sequence, head, t) / 8;
    Sum found = 0;
    for (int pack = lane; pack < of.width / 8; pack += lanes) {
      const Pack<Bf16, 8> result = read<Bf16, 8>(y, first + pack), gradient = read<Bf16, 8>(gy, first + pack);
      for (int v = 0; v < 8; ++v) found += float(result.at[v]) * float(gradient.at[v]);
    }
    return found;
  }
  EVERYWHERE static Sum sum(Sum a, Sum b) { return a + b; }
  EVERYWHERE void finish(int64_t row, int lane, int, Sum all) const {
    if (lane == 0) means[row] = all;
  }
};

// A block has 128 keys and passes over the queries that see them, or 128 queries and passes over the keys that they see. With p the
// probabilities, d = gy v' and D each query's mean of d: the gradient of a score is p (d - D), from which those of keys and queries come by
// products with queries and keys. That of the values is p' gy.
template <int W, bool Causal, bool kOfKeys> struct TileAttentionGradients {
  static constexpr int kMinBlocks = W > 64 ? 1 : 2;
  // The other places of a stage.
  static constexpr int kOthers = W > 64 ? 16 : 64;
  using InShared = HeadLines<W>;
  struct Own {
    WarpTile scored[W / kTile];               // of keys or queries
    WarpTile mixed[kOfKeys ? W / kTile : 1];  // of values
  };
  // Of a query: the logarithm of its softmax's sum, to the power of 2, and its mean gradient.
  struct Query {
    float log_sum, mean;
  };

  Heads of;
  const Bf16* qkv;       // (N, T, 3, heads, width)
  const Bf16* gy;        // (N, T, heads, width)
  const float* log_sum;  // (N, heads, T)
  const float* means;    // (N, heads, T)
  const float* lengths;  // (N) or null
  Bf16* gqkv;            // (N, T, 3, heads, width)
  float scale;           // of a score

  static constexpr int kLines = 2 * kPlaces + 4 * kOthers, kQueries = kOfKeys ? 2 * kOthers : kPlaces;
  EVERYWHERE size_t shared_bytes() const { return sizeof(Bf16) * kLines * InShared::kLine + sizeof(Query) * kQueries; }
  EVERYWHERE int phases() const { return 1 + (of.length + kOthers - 1) / kOthers; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own& own) const {
    const HeadPlaces places(of, lengths, block.cluster, !kOfKeys);
    auto* const lines = reinterpret_cast<Bf16*>(block.own());
    if (phase == 0) {
      for (WarpTile& sum : own.scored) sum.clear();
      for (WarpTile& sum : own.mixed) sum.clear();
      begin_pair(kOfKeys, places, places.first, kPlaces, lines, thread);
      if (!kOfKeys) take_queries(places, places.first, kPlaces, queries(lines), thread);
    }
    begin_stage(phase, places, lines, thread);
    if (phase > 0) add(phase - 1, places, lines, thread, own);
    await_copies<0>();
    if (phase + 1 == phases()) finish(places, thread, own);
  }

 private:
  // The stages are those of [begin, end) of the other places.
  EVERYWHERE int begin(const HeadPlaces& places) const { return Causal && kOfKeys ? places.first : 0; }
  EVERYWHERE int end(const HeadPlaces& places) const {
    if (places.first >= places.count) return 0;
    return Causal && !kOfKeys && places.first + kPlaces < places.count ? places.first + kPlaces : places.count;
  }
  EVERYWHERE static Query* queries(Bf16* lines) { return reinterpret_cast<Query*>(lines + kLines * InShared::kLine); }
  EVERYWHERE static Bf16* at_stage(int stage, Bf16* lines) { return lines + (2 * kPlaces + stage % 2 * 2 * kOthers) * InShared::kLine; }

  // Keys and values, or queries and gradients of y.
  EVERYWHERE void begin_pair(bool keys, const HeadPlaces& places, int first, int count, Bf16* to, int thread) const {
    InShared::begin_copies({qkv, 3, keys ? 1 : 0}, keys ? Features{qkv, 3, 2} : Features{gy, 1, 0}, of, places, first, count, to, thread);
  }

  EVERYWHERE void take_queries(const HeadPlaces& places, int first, int count, Query* to, int thread) const {
    UNROLLED(1)
    for (int i = thread; i < count; i += kThreads) {
      const bool present = first + i < places.count;
      const int64_t row = places.row(of, first + i);
      to[i] = present ? Query{kLog2e * log_sum[row], means[row]} : Query{};
    }
  }

  EVERYWHERE void begin_stage(int stage, const HeadPlaces& places, Bf16* lines, int thread) const {
    const int first = begin(places) + stage * kOthers;
    if (first < end(places)) {
      begin_pair(!kOfKeys, places, first, kOthers, at_stage(stage, lines), thread);
      if (kOfKeys) take_queries(places, first, kOthers, queries(lines) + stage % 2 * kOthers, thread);
    }
    end_of_copies();
  }

  EVERYWHERE void add(int stage, const HeadPlaces& places, Bf16* lines, int thread, Own& own) const {
    const int lane = thread % 32, line = thread / 32 * kTile, first = places.first + line, begun = begin(places) + stage * kOthers;
    if (first >= places.count) return;
    converge_warp();
    const Bf16* const others = at_stage(stage, lines);
    const Query* const of_stage = queries(lines) + (kOfKeys ? stage % 2 * kOthers : line);
    const auto left = InShared::left(lines, line, lane);
    // Registers are the sums'.
    UNROLLED(1)
    for (int k = 0; k < kOthers; k += kTile) {
      const int other = begun + k;
      if (other >= end(places) || (Causal && (kOfKeys ? other + kTile <= first : other >= first + kTile))) continue;
      const auto columns = InShared::template right<Lines::columns>(others, k, lane);
      WarpTile probabilities, gradients;
      multiply<0>(left, columns, lane, probabilities);
      multiply<1>(left, columns, lane, gradients);
      each_element(lane, [&](int i, int row, int column, int) {
        const int t = kOfKeys ? other + column : first + row, s = kOfKeys ? first + row : other + column;
        const bool counts = t < places.count && s < places.count && (!Causal || s <= t);
        const Query& query = of_stage[kOfKeys ? k + column : row];
        float &p = probabilities.at[i], &g = gradients.at[i];
        p = counts ? exp2f(kLog2e * scale * p - query.log_sum) : 0;
        g = counts ? scale * p * (g - query.mean) : 0;
      });
      const auto rows = InShared::template right<Lines::rows>(others, k, lane);
      add_rows<0>(gradients, rows, lane, own.scored);
      if constexpr (kOfKeys) add_rows<1>(probabilities, rows, lane, own.mixed);
    }
  }

  // Of the first lines of both pairs, or of the second ones.
  template <int kSecond, class Left, class Right>
  EVERYWHERE static void multiply(const Left& left, const Right& right, int lane, WarpTile& product) {
    product.clear();
    // Not more at once: registers are the sums'.
    UNROLLED(2)
    for (int c = 0; c < W; c += kTile)
      add_product(product, left.at(kSecond * kPlaces * InShared::kLine + c), right.at(kSecond * kOthers * InShared::kLine + c), lane);
  }

  template <int kSecond, class Right>
  EVERYWHERE static void add_rows(const WarpTile& factors, const Right& rows, int lane, WarpTile (&sums)[W / kTile]) {
    const RoundedTile left(factors, lane);
    WHOLLY_UNROLLED
    for (int c = 0; c < W; c += kTile) add_product(sums[c / kTile], left, rows.at(kSecond * kOthers * InShared::kLine + c), lane);
  }

  EVERYWHERE void finish(const HeadPlaces& places, int thread, const Own& own) const {
    const int lane = thread % 32, first = places.first + thread / 32 * kTile;
    WarpRows one;
    one.fill(1);
    InShared::write_rows(own.scored, one, of, places, first, gqkv, 3, kOfKeys ? 1 : 0, lane);
    if constexpr (kOfKeys) InShared::write_rows(own.mixed, one, of, places, first, gqkv, 3, 2, lane);
  }
};

}  // namespace

size_t tile_attention_backward_scratch(const Shape& features, const Attributes& attributes) {
  Buffers buffers;
  buffers.take(Heads(features, attributes).rows(), sizeof(float));
  return buffers.bytes();
}

template <bool Causal> MadeKernel make_tile_attention_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Heads of(spec.inputs[1].shape(), spec.attributes);
  const auto *const qkv = spec.inputs[0].as<Bf16>(), *const gy = spec.inputs[3].as<Bf16>();
  const auto* const lengths = Causal ? nullptr : spec.inputs[4].as<float>();
  auto* const means = static_cast<float*>(spec.scratch);
  return by_head_width(of.width, [&]<int W>(std::integral_constant<int, W>) {
    const auto program = [&]<bool kOfKeys>(std::bool_constant<kOfKeys>) {
      return TileAttentionGradients<W, Causal, kOfKeys>{
          of, qkv, gy, spec.inputs[2].as<float>(), means, lengths, spec.outputs[0].as<Bf16>(), 1 / std::sqrt(static_cast<float>(of.width))};
    };
    return queued([&stream, of, means_of = MeanGradients{of, spec.inputs[1].as<Bf16>(), gy, lengths, means},
                   of_keys = program(std::true_type{}), of_queries = program(std::false_type{})] {
      reduce_rows(stream, of.rows(), of.width / 8, means_of);
      clusters(stream, HeadPlaces::blocks(of), 1, of_keys);
      clusters(stream, HeadPlaces::blocks(of), 1, of_queries);
    });
  });
}

template MadeKernel make_tile_attention_backward<true>(const OperatorSpec& spec, DeviceStream& stream);
template MadeKernel make_tile_attention_backward<false>(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
