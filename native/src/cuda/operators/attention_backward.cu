// The gradient of self-attention, causal, over all places, or over those before each sequence's length. With p the probabilities, computed
// again from the scores and the sum that the forward operator kept, d = gy v' and D the row's sum of p d: the score's gradient is p (d -
// D). By tiles where they take it (tile_attention.h), otherwise five products by the library, one kernel between them.
#include <cmath>

#include "cuda/operators/batched_product.h"
#include "cuda/operators/buffers.h"
#include "cuda/operators/heads.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/sequence_length.h"
#include "cuda/operators/tile_attention.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, bool Causal> struct ScoreGradients {
  using Sum = float;

  const float* scores;   // (rows, T), not scaled yet
  const float* values;   // (rows, T): d
  const float* log_sum;  // (rows)
  SeenPlaces<Causal> seen;
  T* probabilities;  // (rows, T); zero where later places stand
  T* gradients;      // (rows, T), scaled; zero there too
  float scale;

  EVERYWHERE float probability(int64_t row, int s) const { return expf(scale * scores[row * seen.length + s] - log_sum[row]); }

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    Sum found = 0;
    for (int s = lane; s < seen.of(row); s += lanes) found += probability(row, s) * values[row * seen.length + s];
    return found;
  }
  EVERYWHERE static Sum sum(Sum a, Sum b) { return a + b; }
  EVERYWHERE void finish(int64_t row, int lane, int lanes, Sum mean) const {
    for (int s = lane; s < seen.length; s += lanes) {
      const int64_t at = row * seen.length + s;
      const bool counts = s < seen.of(row);
      const float p = counts ? probability(row, s) : 0;
      probabilities[at] = T(p);
      gradients[at] = T(counts ? scale * p * (values[at] - mean) : 0.0f);
    }
  }
};

struct AttentionBackwardBuffers {
  Buffers buffers;
  void *parts, *gparts, *gresults, *scores, *values, *probabilities, *gradients;

  AttentionBackwardBuffers(const Heads& at, Type type, void* memory = nullptr) : buffers(memory) {
    parts = buffers.take(3 * at.features(), size_of(type));
    gparts = buffers.take(3 * at.features(), size_of(type));
    gresults = buffers.take(at.features(), size_of(type));
    scores = buffers.take(at.scores(), sizeof(float));
    values = buffers.take(at.scores(), sizeof(float));
    probabilities = buffers.take(at.scores(), size_of(type));
    gradients = buffers.take(at.scores(), size_of(type));
  }
};

bool is_own_attention_backward(const LoweringRequest& request) {
  return is_tile_attention(request.precision, request.inputs.at(1).shape, request.attributes);
}

size_t attention_backward_scratch(const LoweringRequest& request) {
  const Shape& features = request.inputs.at(1).shape;
  if (is_own_attention_backward(request)) return tile_attention_backward_scratch(features, request.attributes);
  return AttentionBackwardBuffers(Heads(features, request.attributes), request.precision).buffers.bytes();
}

template <bool Causal> MadeKernel make_attention_backward(const OperatorSpec& spec, DeviceStream& stream) {
  if (is_tile_attention(spec.precision, spec.inputs[1].shape(), spec.attributes)) return make_tile_attention_backward<Causal>(spec, stream);
  const Heads at(spec.inputs[1].shape(), spec.attributes);
  const AttentionBackwardBuffers in(at, spec.precision, spec.scratch);
  return by_packs(spec.precision, at.width, [&]<class P>(P) {
    using T = typename P::T;
    auto* const parts = static_cast<T*>(in.parts);
    auto* const gparts = static_cast<T*>(in.gparts);
    auto* const gresults = static_cast<T*>(in.gresults);
    const auto features = [&](T* data, int part = 0) { return Matrices{data + part * at.features(), spec.precision, at.length, at.width}; };
    const auto scores = [&](void* data, Type type) { return Matrices{data, type, at.length, at.length}; };
    const auto product = [&](Matrices a, bool transpose_a, Matrices b, bool transpose_b, Matrices to) {
      return batched_product(at.matrices(), a, transpose_a, b, transpose_b, to, stream);
    };
    const Matrices gradients = scores(in.gradients, spec.precision), probabilities = scores(in.probabilities, spec.precision);
    auto scored = product(features(parts, 0), false, features(parts, 1), true, scores(in.scores, Type::f32));
    auto valued = product(features(gresults), false, features(parts, 2), true, scores(in.values, Type::f32));
    auto gquery = product(gradients, false, features(parts, 1), false, features(gparts, 0));
    auto gkey = product(gradients, true, features(parts, 0), false, features(gparts, 1));
    auto gvalue = product(probabilities, true, features(gresults), false, features(gparts, 2));
    const ScoreGradients<T, Causal> between{static_cast<const float*>(in.scores),
                                            static_cast<const float*>(in.values),
                                            spec.inputs[2].as<float>(),
                                            {Causal ? nullptr : spec.inputs[4].as<float>(), at.rows() / at.sequences, at.length},
                                            static_cast<T*>(in.probabilities),
                                            static_cast<T*>(in.gradients),
                                            1 / std::sqrt(static_cast<float>(at.width))};
    return queued([&stream, at, qkv = spec.inputs[0].as<T>(), gy = spec.inputs[3].as<T>(), gqkv = spec.outputs[0].as<T>(), parts, gparts,
                   gresults, scored = std::move(scored), valued = std::move(valued), between, gquery = std::move(gquery),
                   gkey = std::move(gkey), gvalue = std::move(gvalue)] {
      move_heads<T, P::V>(stream, at, 3, qkv, parts, true, between.seen.lengths);
      move_heads<T, P::V>(stream, at, 1, gy, gresults, true, between.seen.lengths);
      scored->run({});
      valued->run({});
      reduce_rows(stream, at.rows(), at.length, between);
      gquery->run({});
      gkey->run({});
      gvalue->run({});
      move_heads<T, P::V>(stream, at, 3, gparts, gqkv, false, between.seen.lengths);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"causalSelfAttentionBackward",
     {rows, rows, wide, rows},
     {rows},
     make_attention_backward<true>,
     {},
     attention_backward_scratch,
     "matrix products",
     is_own_attention_backward},
    {"selfAttentionBackward",
     {rows, rows, wide, rows, wide},
     {rows},
     make_attention_backward<false>,
     {},
     attention_backward_scratch,
     "matrix products",
     is_own_attention_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
