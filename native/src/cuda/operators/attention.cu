// Self-attention, causal, over all places, or over those before each sequence's length (Vaswani et al., "Attention is all you need",
// NeurIPS 2017). By tiles where they take it (tile_attention.h), otherwise with the scores in memory: heads apart, their scores by a
// batched product in f32, probabilities of each row, the values' mean by another product, heads together again.
#include <cmath>
#include <limits>

#include "cuda/operators/batched_product.h"
#include "cuda/operators/buffers.h"
#include "cuda/operators/heads.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/sequence_length.h"
#include "cuda/operators/tile_attention.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

// The highest of a row's scores, and the sum of exp(score - highest).
struct Exponentials {
  float highest, sum;
};

// A row is a place t of a sequence, in one head, and its scores are with the places 0 to t, or with all, or with all before the length of
// the sequence, of which the places behind see none.
template <class T, bool Causal> struct AttentionSoftmax {
  using Sum = Exponentials;

  const float* scores;  // (rows, T), not scaled yet
  T* probabilities;     // (rows, T); zero where later places stand
  float* log_sum;       // (rows) or null
  SeenPlaces<Causal> seen;
  float scale;

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    const float* z = scores + row * seen.length;
    Sum found{-std::numeric_limits<float>::infinity(), 0};
    for (int s = lane; s < seen.of(row); s += lanes) found.highest = fmaxf(found.highest, scale * z[s]);
    for (int s = lane; s < seen.of(row); s += lanes) found.sum += expf(scale * z[s] - found.highest);
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) {
    // Without scores there is no highest one to subtract.
    if (b.sum == 0) return a;
    if (a.sum == 0) return b;
    const float highest = fmaxf(a.highest, b.highest);
    return {highest, a.sum * expf(a.highest - highest) + b.sum * expf(b.highest - highest)};
  }
  EVERYWHERE void finish(int64_t row, int lane, int lanes, const Sum& all) const {
    const float* z = scores + row * seen.length;
    for (int s = lane; s < seen.length; s += lanes)
      probabilities[row * seen.length + s] = T(s < seen.of(row) ? expf(scale * z[s] - all.highest) / all.sum : 0.0f);
    if (lane == 0 && log_sum) log_sum[row] = all.sum == 0 ? 0 : all.highest + logf(all.sum);
  }
};

struct AttentionBuffers {
  Buffers buffers;
  void *parts, *results, *scores, *probabilities;

  AttentionBuffers(const Heads& at, Type type, void* memory = nullptr) : buffers(memory) {
    parts = buffers.take(3 * at.features(), size_of(type));
    results = buffers.take(at.features(), size_of(type));
    scores = buffers.take(at.scores(), sizeof(float));
    probabilities = buffers.take(at.scores(), size_of(type));
  }
};

bool is_own_attention(const LoweringRequest& request) {
  return is_tile_attention(request.precision, request.outputs.at(0).shape, request.attributes);
}

size_t attention_scratch(const LoweringRequest& request) {
  if (is_own_attention(request)) return 0;
  return AttentionBuffers(Heads(request.outputs.at(0).shape, request.attributes), request.precision).buffers.bytes();
}

template <bool Causal> MadeKernel make_attention(const OperatorSpec& spec, DeviceStream& stream) {
  if (is_tile_attention(spec.precision, spec.outputs[0].shape(), spec.attributes)) return make_tile_attention<Causal>(spec, stream);
  const Heads at(spec.outputs[0].shape(), spec.attributes);
  const AttentionBuffers in(at, spec.precision, spec.scratch);
  return by_packs(spec.precision, at.width, [&]<class P>(P) {
    using T = typename P::T;
    auto* const parts = static_cast<T*>(in.parts);
    auto* const results = static_cast<T*>(in.results);
    const auto features = [&](T* data) { return Matrices{data, spec.precision, at.length, at.width}; };
    const auto scores = [&](void* data, Type type) { return Matrices{data, type, at.length, at.length}; };
    auto scored =
        batched_product(at.matrices(), features(parts), false, features(parts + at.features()), true, scores(in.scores, Type::f32), stream);
    auto mixed = batched_product(at.matrices(), scores(in.probabilities, spec.precision), false, features(parts + 2 * at.features()), false,
                                 features(results), stream);
    const AttentionSoftmax<T, Causal> softmax{static_cast<const float*>(in.scores),
                                              static_cast<T*>(in.probabilities),
                                              spec.outputs[1].as<float>(),
                                              {Causal ? nullptr : spec.inputs[1].as<float>(), at.rows() / at.sequences, at.length},
                                              1 / std::sqrt(static_cast<float>(at.width))};
    return queued([&stream, at, qkv = spec.inputs[0].as<T>(), parts, scored = std::move(scored), softmax, mixed = std::move(mixed), results,
                   y = spec.outputs[0].as<T>()] {
      move_heads<T, P::V>(stream, at, 3, qkv, parts, true, softmax.seen.lengths);
      scored->run({});
      reduce_rows(stream, at.rows(), at.length, softmax);
      mixed->run({});
      move_heads<T, P::V>(stream, at, 1, results, y, false, softmax.seen.lengths);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"causalSelfAttention", {rows}, {rows, wide}, make_attention<true>, {}, attention_scratch, "matrix products", is_own_attention},
    {"selfAttention", {rows, wide}, {rows, wide}, make_attention<false>, {}, attention_scratch, "matrix products", is_own_attention},
}};

}  // namespace
}  // namespace arbalest::cuda
