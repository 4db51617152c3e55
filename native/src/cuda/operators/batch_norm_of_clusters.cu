#include "cuda/operators/batch_norm_of_clusters.h"

#include "cuda/device_backend.h"
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/batch_norm_gradients.h"
#include "cuda/operators/batch_norm_numbers.h"
#include "cuda/operators/bounds.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

// Rows beyond which a cluster's few blocks would take longer than two launches of as many as there are multiprocessors.
constexpr int kMostRows = 32768;
// Rows of which a cluster has as many packs side by side as memory is read by, 32 bytes, and of which a block is enough. With more of them,
// twice as many blocks work on half as many channels.
constexpr int kFewRows = 8192, kRowsOfBlock = 512;

// The rows of a block and of its threads, and its packs of channels, `Lanes` side by side.
template <int Lanes> struct ClusterRows {
  static constexpr int kLanes = Lanes;
  int rows, packs;
  int of_block;  // rows of each block; the last ones of a cluster may have fewer, or none

  ClusterRows(const Image& image, int width, int size) : rows(image.rows()), packs(image.c / width), of_block((rows + size - 1) / size) {}

  int64_t clusters() const { return (packs + kLanes - 1) / kLanes; }
  EVERYWHERE int pack(const ClusterBlock& block, int lane) const { return static_cast<int>(block.cluster) * kLanes + lane; }
  EVERYWHERE int of(int rank) const {
    const int left = rows - rank * of_block;
    return left < 0 ? 0 : left < of_block ? left : of_block;
  }
  EVERYWHERE int first(const ClusterBlock& block) const { return block.rank * of_block; }
  EVERYWHERE int end(const ClusterBlock& block) const { return first(block) + of(block.rank); }
  EVERYWHERE static constexpr int step() { return kThreads / kLanes; }

  // Calls `read(slot, i)` for the next kUnderWay packs of a thread, then `finish(slot, i)` for the same, until all are done.
  template <int kUnderWay, class Read, class Finish>
  EVERYWHERE void in_turns(const ClusterBlock& block, int thread, const Read& read, const Finish& finish) const {
    const int of = pack(block, thread % kLanes), last = end(block);
    for (int row = first(block) + thread / kLanes; row < last; row += kUnderWay * step()) {
      WHOLLY_UNROLLED
      for (int slot = 0; slot < kUnderWay; ++slot)
        if (row + slot * step() < last) read(slot, static_cast<int64_t>(row + slot * step()) * packs + of);
      WHOLLY_UNROLLED
      for (int slot = 0; slot < kUnderWay; ++slot)
        if (row + slot * step() < last) finish(slot, static_cast<int64_t>(row + slot * step()) * packs + of);
    }
  }
};

// S finds two sums of each of a block's channels, makes two numbers of them that the cluster's blocks exchange, and applies what it makes
// of all blocks'. In its phases a thread waits for memory as seldom as can be: that, and no arithmetic, is what takes their time.
//
//   Own        what a thread reads before it is needed
//   Numbers    what a block knows of its channels
//   void read_ahead(const ClusterBlock&, int channel, Own&) const
//   TwoSums<V> partial(const ClusterBlock&, int thread) const
//   void conclude(const ClusterBlock&, const Own&, float&, float&) const
//                                    a channel's two sums to its two numbers
//   void settle(const ClusterBlock&, int channel, const Own&, const float* all, Numbers&) const
//                                    all: the channel's of all blocks, kNumbers apart
//   void apply(const ClusterBlock&, int thread, const Numbers&) const
template <class S> struct SumAndApply {
  static constexpr int kMinBlocks = 2, kLanes = S::kLanes;
  using Own = typename S::Own;
  static constexpr int kChannels = kLanes * S::kWidth, kNumbers = 2 * kChannels, kParts = kThreads / kNumbers;
  struct Shared {
    // The gap keeps neighbouring sums in banks of their own.
    float sums[2 * S::kWidth][kThreads + kLanes];
    float parts[kParts][kNumbers];
    float found[kNumbers];
    float all[kMaxClusterSize][kNumbers];
    typename S::Numbers numbers;
  };

  S s;

  EVERYWHERE size_t shared_bytes() const { return sizeof(Shared); }
  EVERYWHERE int phases() const { return 6; }
  EVERYWHERE bool together(int phase) const { return phase == 2; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own& own) const {
    Shared& shared = *reinterpret_cast<Shared*>(block.own());
    const bool has_channel = thread < kChannels && s.rows.pack(block, thread / S::kWidth) < s.rows.packs;
    if (phase == 0) {
      TwoSums<S::kWidth> found{};
      if (has_channel) s.read_ahead(block, thread, own);
      if (s.rows.pack(block, thread % kLanes) < s.rows.packs) found = s.partial(block, thread);
      for (int v = 0; v < S::kWidth; ++v) {
        shared.sums[v][thread] = found.sum[v];
        shared.sums[S::kWidth + v][thread] = found.product[v];
      }
    } else if (phase == 1) {
      const int number = thread % kNumbers, lane = number % kLanes, part = thread / kNumbers;
      float sum = 0;
      WHOLLY_UNROLLED
      for (int i = 0; i < kThreads / kLanes / kParts; ++i) sum += shared.sums[number / kLanes][lane + kLanes * (part + kParts * i)];
      shared.parts[part][number] = sum;
    } else if (phase == 2) {
      if (!has_channel) return;
      // Of channel v of a lane.
      const int v = thread % S::kWidth, lane = thread / S::kWidth, first = v * kLanes + lane, second = (S::kWidth + v) * kLanes + lane;
      float sum = 0, product = 0;
      WHOLLY_UNROLLED
      for (int part = 0; part < kParts; ++part) {
        sum += shared.parts[part][first];
        product += shared.parts[part][second];
      }
      s.conclude(block, own, sum, product);
      shared.found[thread] = sum;
      shared.found[kChannels + thread] = product;
    } else if (phase == 3) {
      for (int i = thread; i < kNumbers * block.size; i += kThreads)
        shared.all[i / kNumbers][i % kNumbers] = reinterpret_cast<const Shared*>(block.of(i / kNumbers))->found[i % kNumbers];
    } else if (phase == 4) {
      if (has_channel) s.settle(block, thread, own, &shared.all[0][thread], shared.numbers);
    } else if (s.rows.pack(block, thread % kLanes) < s.rows.packs) {
      s.apply(block, thread, shared.numbers);
    }
  }
};

template <class T, int V, int Lanes> struct Forward {
  static constexpr int kLanes = Lanes, kWidth = V, kChannels = kLanes * V, kNumbers = 2 * kChannels;
  struct Own {
    float gamma, beta, origin;
  };
  using Numbers = NormNumbers<kChannels>;

  const T* x;                   // (rows, C)
  const T* residual;            // (rows, C) or null
  T* y;                         // (rows, C); may be x or residual
  const float *gamma, *offset;  // (C)
  float *mean, *variance;       // (C) or null
  ClusterRows<Lanes> rows;
  float epsilon;
  Bounds bounds;

  EVERYWHERE int channel(const ClusterBlock& block, int thread) const { return rows.pack(block, 0) * V + thread; }

  // Sums are those of differences from the block's first row: those of squares then lose nothing to a large mean.
  EVERYWHERE void read_ahead(const ClusterBlock& block, int thread, Own& own) const {
    const int c = channel(block, thread);
    own.gamma = gamma[c];
    own.beta = offset[c];
    own.origin = rows.of(block.rank) > 0 ? float(x[static_cast<int64_t>(rows.first(block)) * rows.packs * V + c]) : 0.0f;
  }

  EVERYWHERE TwoSums<V> partial(const ClusterBlock& block, int thread) const {
    TwoSums<V> found{};
    const int pack = rows.pack(block, thread % kLanes), end = rows.end(block);
    if (rows.of(block.rank) == 0) return found;
    const Pack<T, V> origin = read<T, V>(x, static_cast<int64_t>(rows.first(block)) * rows.packs + pack);
    UNROLLED(8)
    for (int row = rows.first(block) + thread / kLanes; row < end; row += rows.step()) {
      const Pack<T, V> values = read<T, V>(x, static_cast<int64_t>(row) * rows.packs + pack);
      for (int v = 0; v < V; ++v) {
        const float difference = float(values.at[v]) - float(origin.at[v]);
        found.sum[v] += difference;
        found.product[v] += difference * difference;
      }
    }
    return found;
  }

  // The mean, and the sum of squared deviations.
  EVERYWHERE void conclude(const ClusterBlock& block, const Own& own, float& sum, float& squares) const {
    const int count = rows.of(block.rank);
    if (count == 0) return;
    const float shift = sum / static_cast<float>(count);
    squares -= sum * shift;
    if (squares < 0) squares = 0;
    sum = own.origin + shift;
  }

  EVERYWHERE void settle(const ClusterBlock& block, int at, const Own& own, const float* all, Numbers& numbers) const {
    const auto count = static_cast<float>(rows.rows);
    float centre = 0, squares = 0;
    UNROLLED(4)
    for (int rank = 0; rank < block.size; ++rank) centre += all[rank * kNumbers] * static_cast<float>(rows.of(rank));
    centre /= count;
    UNROLLED(4)
    for (int rank = 0; rank < block.size; ++rank) {
      const float step = all[rank * kNumbers] - centre;
      squares += all[rank * kNumbers + kChannels] + step * step * static_cast<float>(rows.of(rank));
    }
    const float spread = squares / count;
    numbers.set(at, centre, spread, epsilon, own.gamma, own.beta);
    if (block.rank != 0) return;
    if (mean) mean[channel(block, at)] = centre;
    if (variance) variance[channel(block, at)] = spread;
  }

  EVERYWHERE void apply(const ClusterBlock& block, int thread, const Numbers& numbers) const {
    constexpr int kRows = 4;
    Pack<T, V> values[kRows]{}, added[kRows]{};
    rows.template in_turns<kRows>(
        block, thread,
        [&](int slot, int64_t i) {
          values[slot] = read<T, V>(x, i);
          if (residual) added[slot] = read<T, V>(residual, i);
        },
        [&](int slot, int64_t i) {
          write(y, i, numbers.apply(values[slot], residual != nullptr, added[slot], thread % kLanes * V, bounds));
        });
  }
};

template <class T, int V, int Lanes> struct Backward {
  static constexpr int kLanes = Lanes, kWidth = V, kChannels = kLanes * V, kNumbers = 2 * kChannels;
  struct Own {
    float gamma, mean, inverse;
  };
  using Numbers = NormGradientNumbers<kChannels>;

  Gradients<T, V> from;
  const float* gamma;     // (C)
  T* gx;                  // (rows, C) or null; may be gy
  T* gresidual;           // (rows, C) or null; may be gy2
  float *ggamma, *gbeta;  // (C)
  ClusterRows<Lanes> rows;

  EVERYWHERE void read_ahead(const ClusterBlock& block, int thread, Own& own) const {
    const int c = rows.pack(block, 0) * V + thread;
    own = {gamma[c], from.mean(c), from.inverse(c)};
  }

  EVERYWHERE TwoSums<V> partial(const ClusterBlock& block, int thread) const {
    return from.sums_of_rows(rows.pack(block, thread % kLanes), rows.packs, rows.first(block) + thread / kLanes, rows.end(block),
                             rows.step());
  }

  EVERYWHERE void conclude(const ClusterBlock&, const Own& own, float&, float& product) const { product *= own.inverse; }

  EVERYWHERE void settle(const ClusterBlock& block, int at, const Own& own, const float* all, Numbers& numbers) const {
    const int c = rows.pack(block, 0) * V + at;
    float sum = 0, product = 0;
    UNROLLED(4)
    for (int rank = 0; rank < block.size; ++rank) {
      sum += all[rank * kNumbers];
      product += all[rank * kNumbers + kChannels];
    }
    numbers.set(at, own.gamma, own.mean, own.inverse, sum, product, static_cast<float>(rows.rows));
    if (block.rank != 0) return;
    ggamma[c] = product;
    gbeta[c] = sum;
  }

  EVERYWHERE void apply(const ClusterBlock& block, int thread, const Numbers& numbers) const {
    constexpr int kRows = 2;
    Pack<float, V> gradients[kRows]{};
    Pack<T, V> values[kRows]{};
    rows.template in_turns<kRows>(
        block, thread,
        [&](int slot, int64_t i) {
          const auto operands = from.operands.load(i);
          gradients[slot] = from.operands.masked(read<T, V>(from.gy, i), operands);
          values[slot] = operands.x;
        },
        [&](int slot, int64_t i) {
          if (gx) write(gx, i, numbers.apply(values[slot], gradients[slot], thread % kLanes * V));
          if (gresidual) write(gresidual, i, rounded<T>(gradients[slot]));
        });
  }
};

// Calls `program_of` with the element type, the width of a pack and the rows, or gives null.
template <class ProgramOf> MadeKernel make(const OperatorSpec& spec, DeviceStream& stream, const ProgramOf& program_of) {
  const Image image(spec.inputs[0].shape());
  const int most = stream.backend().max_cluster_size();
  if (most == 1 || image.rows() > kMostRows) return nullptr;
  int size = 1;
  while (size < most && size * kRowsOfBlock < image.rows()) size *= 2;
  return by_packs(spec.precision, image.c, [&]<class P>(P pack) -> MadeKernel {
    if constexpr (P::V == 1) {
      return nullptr;
    } else {
      const auto made = [&](const auto& rows) {
        const auto program = program_of(pack, rows);
        return queued([&stream, size, program] { clusters(stream, program.s.rows.clusters(), size, program); });
      };
      return image.rows() < kFewRows ? made(ClusterRows<2>(image, P::V, size)) : made(ClusterRows<1>(image, P::V, size));
    }
  });
}

}  // namespace

MadeKernel make_batch_norm_of_clusters(const OperatorSpec& spec, DeviceStream& stream) {
  return make(spec, stream, [&]<class P, int Lanes>(P, const ClusterRows<Lanes>& rows) {
    using T = typename P::T;
    return SumAndApply<Forward<T, P::V, Lanes>>{{spec.inputs[0].as<T>(), spec.inputs[3].as<T>(), spec.outputs[0].as<T>(),
                                                 spec.inputs[1].as<float>(), spec.inputs[2].as<float>(), spec.outputs[1].as<float>(),
                                                 spec.outputs[2].as<float>(), rows, static_cast<float>(spec.attributes.number("epsilon")),
                                                 Bounds(spec.attributes)}};
  });
}

MadeKernel make_batch_norm_backward_of_clusters(const OperatorSpec& spec, DeviceStream& stream) {
  return make(spec, stream, [&]<class P, int Lanes>(P, const ClusterRows<Lanes>& rows) {
    using T = typename P::T;
    return SumAndApply<Backward<T, P::V, Lanes>>{{Gradients<T, P::V>(spec), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(),
                                                  spec.outputs[3].as<T>(), spec.outputs[1].as<float>(), spec.outputs[2].as<float>(), rows}};
  });
}

}  // namespace arbalest::cuda
