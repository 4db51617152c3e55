// Rows of a table by token, and its gradient: each token's rows of gy are added in the order of the batch by the threads of the token's
// first occurrence, so that sums need no atomics. A token outside of the table makes its row NaN, which ends the run with
// LOSS_NOT_FINITE: a kernel cannot throw.
#include <limits>

#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Embedding {
  const int32_t* tokens;  // (N)
  const float* table;     // (rows, F)
  T* y;                   // (N, F)
  int rows, packs;

  EVERYWHERE void operator()(int64_t i) const {
    const int32_t token = tokens[i / packs];
    const bool known = token >= 0 && token < rows;
    Pack<float, V> found{};
    if (known) found = read<float, V>(table, static_cast<int64_t>(token) * packs + i % packs);
    Pack<T, V> values;
    for (int v = 0; v < V; ++v) values.at[v] = T(known ? found.at[v] : std::numeric_limits<float>::quiet_NaN());
    write(y, i, values);
  }
};

// 1 where no earlier token of the batch is the same one.
struct FirstOccurrences {
  const int32_t* tokens;  // (N)
  int32_t* first;         // (N)

  EVERYWHERE void operator()(int64_t i) const {
    int64_t before = i - 1;
    while (before >= 0 && tokens[before] != tokens[i]) --before;
    first[i] = before < 0;
  }
};

template <int V> struct ZeroTable {
  float* table;

  EVERYWHERE void operator()(int64_t i) const { write(table, i, Pack<float, V>{}); }
};

template <class T, int V> struct EmbeddingBackward {
  const int32_t* tokens;  // (N)
  const int32_t* first;   // (N)
  const T* gy;            // (N, F)
  float* gtable;          // (rows, F), zero
  int64_t samples;
  int rows, packs;

  EVERYWHERE void operator()(int64_t i) const {
    const int32_t token = tokens[i / packs];
    if (!first[i / packs] || token < 0 || token >= rows) return;
    Pack<float, V> sums{};
    for (int64_t n = i / packs; n < samples; ++n) {
      if (tokens[n] != token) continue;
      const Pack<T, V> gradients = read<T, V>(gy, n * packs + i % packs);
      for (int v = 0; v < V; ++v) sums.at[v] += float(gradients.at[v]);
    }
    write(gtable, static_cast<int64_t>(token) * packs + i % packs, sums);
  }
};

size_t embedding_backward_scratch(const Shape& tokens) { return static_cast<size_t>(elements_of(tokens)) * sizeof(int32_t); }

MadeKernel make_embedding(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& table = spec.inputs[1].shape();
  const int64_t samples = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, table[1], [&]<class P>(P) {
    using T = typename P::T;
    const Embedding<T, P::V> program{spec.inputs[0].as<int32_t>(), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(),
                                     static_cast<int>(table[0]), static_cast<int>(table[1] / P::V)};
    return queued([&stream, samples, program] { each(stream, samples * program.packs, program); });
  });
}

MadeKernel make_embedding_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& table = spec.outputs[0].shape();
  const int64_t samples = elements_of(spec.inputs[0].shape());
  auto* const first = static_cast<int32_t*>(spec.scratch);
  const FirstOccurrences occurrences{spec.inputs[0].as<int32_t>(), first};
  return by_packs(spec.precision, table[1], [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    const EmbeddingBackward<T, V> program{occurrences.tokens,
                                          first,
                                          spec.inputs[1].as<T>(),
                                          spec.outputs[0].as<float>(),
                                          samples,
                                          static_cast<int>(table[0]),
                                          static_cast<int>(table[1] / V)};
    return queued([&stream, occurrences, program] {
      each(stream, program.samples, occurrences);
      each(stream, int64_t{program.rows} * program.packs, ZeroTable<V>{program.gtable});
      each(stream, program.samples * program.packs, program);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"embedding", {own, wide}, {rows}, make_embedding},
    {"embeddingBackward", {own, rows}, {wide}, make_embedding_backward, {}, by_first_input<embedding_backward_scratch>},
}};

}  // namespace
}  // namespace arbalest::cuda
