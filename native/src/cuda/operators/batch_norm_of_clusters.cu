#include "cuda/operators/batch_norm_of_clusters.h"

#include <cmath>

#include "cuda/device_backend.h"
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/batch_norm_gradients.h"
#include "cuda/operators/bounds.h"
#include "cuda/operators/moments.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

// Rows beyond which a cluster's few blocks would take longer than two launches of as many as there are multiprocessors.
constexpr int kMostRows = 32768;
// Packs side by side in a block: 32 bytes, as much as memory is read by.
constexpr int kLanes = 2;
// Rows that a thread has under way.
constexpr int kUnderWay = 4;

// The rows of a block and of its threads.
struct ClusterRows {
  int rows, packs;

  int64_t clusters() const { return (packs + kLanes - 1) / kLanes; }
  EVERYWHERE int pack(const ClusterBlock& block, int lane) const { return static_cast<int>(block.cluster) * kLanes + lane; }
  EVERYWHERE int first(const ClusterBlock& block) const { return static_cast<int>(static_cast<int64_t>(rows) * block.rank / block.size); }
  EVERYWHERE int end(const ClusterBlock& block) const { return static_cast<int>(static_cast<int64_t>(rows) * (block.rank + 1) / block.size); }
  EVERYWHERE static constexpr int step() { return kThreads / kLanes; }

  // Calls `read(slot, i)` for some packs of a thread, then `finish(slot, i)` for the same, until all are done.
  template <class Read, class Finish> EVERYWHERE void in_turns(const ClusterBlock& block, int thread, const Read& read, const Finish& finish) const {
    const int of = pack(block, thread % kLanes), last = end(block);
    for (int row = first(block) + thread / kLanes; row < last; row += kUnderWay * step()) {
      WHOLLY_UNROLLED for (int slot = 0; slot < kUnderWay; ++slot)
        if (row + slot * step() < last) read(slot, static_cast<int64_t>(row + slot * step()) * packs + of);
      WHOLLY_UNROLLED for (int slot = 0; slot < kUnderWay; ++slot)
        if (row + slot * step() < last) finish(slot, static_cast<int64_t>(row + slot * step()) * packs + of);
    }
  }
};

// S has a type Sum, of which a block's threads find theirs; a type Numbers, what a block knows of its channels; and
//   Sum partial(const ClusterBlock&, int thread) const
//   void settle(const ClusterBlock&, int channel, const Found&, Numbers&) const     one of the block's channels, from what all blocks have found
//   void apply(const ClusterBlock&, int thread, const Numbers&) const
template <class S> struct SumAndApply {
  struct Own {};
  using Sum = typename S::Sum;
  struct Shared {
    SumsOfThreads<Sum> sums;
    Sum found[kLanes];
    typename S::Numbers numbers;
  };
  // Of threads with the same lane.
  static constexpr int kLevels = 7;
  static_assert(kThreads == kLanes << kLevels);

  S s;

  EVERYWHERE size_t shared_bytes() const { return sizeof(Shared); }
  EVERYWHERE int phases() const { return 1 + kLevels + 3; }
  EVERYWHERE bool together(int phase) const { return phase == kLevels + 1; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own&) const {
    Shared& shared = *reinterpret_cast<Shared*>(block.own());
    if (phase == 0) {
      shared.sums.put(thread, s.rows.pack(block, thread % kLanes) < s.rows.packs ? s.partial(block, thread) : Sum{});
    } else if (phase <= kLevels) {
      const int stride = kThreads >> phase;
      if (thread < stride) shared.sums.put(thread, shared.sums.get(thread) + shared.sums.get(thread + stride));
    } else if (phase == kLevels + 1) {
      if (thread < kLanes) shared.found[thread] = shared.sums.get(thread);
    } else if (phase == kLevels + 2) {
      if (thread < kLanes * S::kWidth && s.rows.pack(block, thread / S::kWidth) < s.rows.packs)
        s.settle(block, thread, [&](int rank) -> const Sum& { return reinterpret_cast<const Shared*>(block.of(rank))->found[thread / S::kWidth]; },
                 shared.numbers);
    } else if (s.rows.pack(block, thread % kLanes) < s.rows.packs) {
      s.apply(block, thread, shared.numbers);
    }
  }
};

template <class T, int V> struct Forward {
  static constexpr int kWidth = V;
  using Sum = Moments<V>;
  struct Numbers { float mean[kLanes * V], scale[kLanes * V], beta[kLanes * V]; };

  const T* x;                    // (rows, C)
  const T* residual;             // (rows, C) or null
  T* y;                          // (rows, C); may be x or residual
  const float *gamma, *offset;   // (C)
  float *mean, *variance;        // (C) or null
  ClusterRows rows;
  float epsilon;
  Bounds bounds;

  EVERYWHERE Sum partial(const ClusterBlock& block, int thread) const {
    return Sum::of_rows(x + static_cast<int64_t>(rows.pack(block, thread % kLanes)) * V, rows.packs, rows.first(block) + thread / kLanes, rows.end(block),
                        rows.step());
  }

  template <class Found> EVERYWHERE void settle(const ClusterBlock& block, int at, const Found& found, Numbers& numbers) const {
    const int c = rows.pack(block, 0) * V + at, v = at % V;
    const auto all = static_cast<float>(rows.rows);
    float centre = 0, squares = 0;
    for (int rank = 0; rank < block.size; ++rank) centre += found(rank).mean[v] * (found(rank).count / all);
    for (int rank = 0; rank < block.size; ++rank) {
      const float step = found(rank).mean[v] - centre;
      squares += (found(rank).squares[v] < 0 ? 0 : found(rank).squares[v]) + step * step * found(rank).count;
    }
    numbers.mean[at] = centre;
    numbers.scale[at] = gamma[c] / sqrtf(squares / all + epsilon);
    numbers.beta[at] = offset[c];
    if (block.rank != 0) return;
    if (mean) mean[c] = centre;
    if (variance) variance[c] = squares / all;
  }

  EVERYWHERE void apply(const ClusterBlock& block, int thread, const Numbers& numbers) const {
    Pack<T, V> values[kUnderWay], added[kUnderWay];
    rows.in_turns(
        block, thread,
        [&](int slot, int64_t i) {
          values[slot] = read<T, V>(x, i);
          if (residual) added[slot] = read<T, V>(residual, i);
        },
        [&](int slot, int64_t i) {
          for (int v = 0; v < V; ++v) {
            const int at = thread % kLanes * V + v;
            float value = (float(values[slot].at[v]) - numbers.mean[at]) * numbers.scale[at] + numbers.beta[at];
            if (residual) value += float(added[slot].at[v]);
            values[slot].at[v] = T(bounds.within(value));
          }
          write(y, i, values[slot]);
        });
  }
};

template <class T, int V> struct Backward {
  static constexpr int kWidth = V;
  using Sum = TwoSums<V>;
  struct Numbers { float mean[kLanes * V], inverse[kLanes * V], scale[kLanes * V], sum[kLanes * V], product[kLanes * V]; };

  Gradients<T, V> from;
  const float* gamma;     // (C)
  T* gx;                  // (rows, C) or null; may be gy
  T* gresidual;           // (rows, C) or null; may be gy2
  float *ggamma, *gbeta;  // (C)
  ClusterRows rows;

  EVERYWHERE Sum partial(const ClusterBlock& block, int thread) const {
    return from.sums_of_rows(rows.pack(block, thread % kLanes), rows.packs, rows.first(block) + thread / kLanes, rows.end(block), rows.step());
  }

  template <class Found> EVERYWHERE void settle(const ClusterBlock& block, int at, const Found& found, Numbers& numbers) const {
    const int c = rows.pack(block, 0) * V + at, v = at % V;
    const auto all = static_cast<float>(rows.rows);
    float sum = 0, product = 0;
    for (int rank = 0; rank < block.size; ++rank) {
      sum += found(rank).sum[v];
      product += found(rank).product[v];
    }
    numbers.mean[at] = from.mean[c];
    numbers.inverse[at] = from.inverse(c);
    product *= numbers.inverse[at];
    numbers.scale[at] = gamma[c] * numbers.inverse[at];
    numbers.sum[at] = sum / all;
    numbers.product[at] = product / all;
    if (block.rank != 0) return;
    ggamma[c] = product;
    gbeta[c] = sum;
  }

  EVERYWHERE void apply(const ClusterBlock& block, int thread, const Numbers& numbers) const {
    Pack<float, V> gradients[kUnderWay];
    Pack<T, V> values[kUnderWay];
    rows.in_turns(
        block, thread,
        [&](int slot, int64_t i) {
          gradients[slot] = from.masked(i);
          values[slot] = read<T, V>(from.x, i);
        },
        [&](int slot, int64_t i) {
          Pack<T, V> passed;
          for (int v = 0; v < V; ++v) {
            const int at = thread % kLanes * V + v;
            const float g = gradients[slot].at[v], normalised = (float(values[slot].at[v]) - numbers.mean[at]) * numbers.inverse[at];
            values[slot].at[v] = T(numbers.scale[at] * (g - numbers.sum[at] - normalised * numbers.product[at]));
            passed.at[v] = T(g);
          }
          if (gx) write(gx, i, values[slot]);
          if (gresidual) write(gresidual, i, passed);
        });
  }
};

// Calls `program_of` with the element type and the width of a pack, or gives null.
template <class ProgramOf> MadeKernel make(const OperatorSpec& spec, DeviceStream& stream, const ProgramOf& program_of) {
  const Image image(spec.inputs[0].shape());
  const int size = stream.backend().most_of_cluster();
  if (size == 1 || image.rows() > kMostRows) return nullptr;
  return by_packs(spec.precision, image.c, [&]<class P>(P pack) -> MadeKernel {
    if constexpr (P::V == 1) {
      return nullptr;
    } else {
      const auto program = program_of(pack, ClusterRows{image.rows(), image.c / P::V});
      return queued([&stream, size, program] { clusters(stream, program.s.rows.clusters(), size, program); });
    }
  });
}

}  // namespace

MadeKernel make_batch_norm_of_clusters(const OperatorSpec& spec, DeviceStream& stream) {
  return make(spec, stream, [&]<class P>(P, const ClusterRows& rows) {
    using T = typename P::T;
    return SumAndApply<Forward<T, P::V>>{{spec.inputs[0].as<T>(), spec.inputs[3].as<T>(), spec.outputs[0].as<T>(), spec.inputs[1].as<float>(),
                                          spec.inputs[2].as<float>(), spec.outputs[1].as<float>(), spec.outputs[2].as<float>(), rows,
                                          static_cast<float>(spec.attributes.number("epsilon")), Bounds(spec.attributes)}};
  });
}

MadeKernel make_batch_norm_backward_of_clusters(const OperatorSpec& spec, DeviceStream& stream) {
  return make(spec, stream, [&]<class P>(P, const ClusterRows& rows) {
    using T = typename P::T;
    return SumAndApply<Backward<T, P::V>>{{Gradients<T, P::V>(spec), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(), spec.outputs[3].as<T>(),
                                           spec.outputs[1].as<float>(), spec.outputs[2].as<float>(), rows}};
  });
}

}  // namespace arbalest::cuda
