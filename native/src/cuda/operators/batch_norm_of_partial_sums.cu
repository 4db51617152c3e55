#include "cuda/operators/batch_norm_of_partial_sums.h"

#include "cuda/operators/batch_norm_numbers.h"
#include "cuda/operators/partial_sums.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

// Channels that a thread reads at once, and the packs of them that it works on.
constexpr int kWidth = kWidest<Bf16>, kPacks = 2;

// S makes numbers of each channel's two sums, and applies them to the rows. A thread begins all of its reads before it waits for one.
//
//   Own        what a thread reads before it is needed
//   Numbers    what a block knows of the channels
//   void read_ahead(int64_t pack, int slot, Own&) const
//   void read_channel(int channel, Own&) const
//   void settle(int channel, const Own&, float sum, float product, bool writes, Numbers&) const
//   void apply(int64_t pack, int first, int slot, const Own&, const Numbers&) const
//                                    first: the pack's first channel
template <int C, class S> struct AddUpAndApply {
  static constexpr int kMinBlocks = S::kMinBlocks, kShares = kThreads / C;
  using Own = typename S::Own;
  struct Shared {
    float sums[2][kShares][C];
    typename S::Numbers numbers;
  };

  S s;
  const float* sums;  // (tiles, C, 2)
  int tiles, packs;

  int64_t blocks() const { return (packs + kThreads * kPacks - 1) / (kThreads * kPacks); }
  EVERYWHERE size_t shared_bytes() const { return sizeof(Shared); }
  EVERYWHERE int phases() const { return 3; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own& own) const {
    Shared& shared = *reinterpret_cast<Shared*>(block.own());
    const int64_t first = block.cluster * kThreads * kPacks + thread;
    const int channel = thread % C, share = thread / C;
    if (phase == 0) {
      WHOLLY_UNROLLED
      for (int slot = 0; slot < kPacks; ++slot)
        if (first + slot * kThreads < packs) s.read_ahead(first + slot * kThreads, slot, own);
      if (share == 0) s.read_channel(channel, own);
      Pack<float, 2> found{};
      UNROLLED(4)
      for (int tile = share; tile < tiles; tile += kShares) {
        const Pack<float, 2> more = read<float, 2>(sums, static_cast<int64_t>(tile) * C + channel);
        found.at[0] += more.at[0];
        found.at[1] += more.at[1];
      }
      for (int number = 0; number < 2; ++number) shared.sums[number][share][channel] = found.at[number];
    } else if (phase == 1) {
      if (share != 0) return;
      float sum = 0, product = 0;
      WHOLLY_UNROLLED
      for (int other = 0; other < kShares; ++other) {
        sum += shared.sums[0][other][channel];
        product += shared.sums[1][other][channel];
      }
      s.settle(channel, own, sum, product, block.cluster == 0, shared.numbers);
    } else {
      WHOLLY_UNROLLED
      for (int slot = 0; slot < kPacks; ++slot)
        if (first + slot * kThreads < packs) s.apply(first + slot * kThreads, thread % (C / kWidth) * kWidth, slot, own, shared.numbers);
    }
  }
};

template <int C> struct Forward {
  static constexpr int kMinBlocks = 4;
  struct Own {
    Pack<Bf16, kWidth> x[kPacks], residual[kPacks];
    float gamma, beta;
  };
  using Numbers = NormNumbers<C>;

  const Bf16* x;              // (rows, C)
  const Bf16* residual;       // (rows, C) or null
  Bf16* y;                    // (rows, C); may be x or residual
  const float *gamma, *beta;  // (C)
  float *mean, *variance;     // (C) or null
  double share;               // 1 / rows
  float epsilon;
  Bounds bounds;

  EVERYWHERE void read_ahead(int64_t pack, int slot, Own& own) const {
    own.x[slot] = read<Bf16, kWidth>(x, pack);
    if (residual) own.residual[slot] = read<Bf16, kWidth>(residual, pack);
  }
  EVERYWHERE void read_channel(int channel, Own& own) const {
    own.gamma = gamma[channel];
    own.beta = beta[channel];
  }

  EVERYWHERE void settle(int channel, const Own& own, float sum, float squares, bool writes, Numbers& numbers) const {
    // The difference of two numbers that are large where the mean is: rounded once, and not before.
    const double centre = sum * share, found = squares * share - centre * centre;
    const float spread = found < 0 ? 0.0f : static_cast<float>(found);
    numbers.set(channel, static_cast<float>(centre), spread, epsilon, own.gamma, own.beta);
    if (!writes) return;
    if (mean) mean[channel] = static_cast<float>(centre);
    if (variance) variance[channel] = spread;
  }

  EVERYWHERE void apply(int64_t pack, int first, int slot, const Own& own, const Numbers& numbers) const {
    write(y, pack, numbers.apply(own.x[slot], residual != nullptr, own.residual[slot], first, bounds));
  }
};

template <int C> struct Backward {
  // What a thread has read ahead takes more registers than three blocks leave it.
  static constexpr int kMinBlocks = 2;
  struct Own {
    Pack<Bf16, kWidth> gy[kPacks];
    typename GradientOperands<Bf16, kWidth>::Values operands[kPacks];
    float gamma, mean, variance;
  };
  using Numbers = NormGradientNumbers<C>;

  Gradients<Bf16, kWidth> from;
  const float* gamma;     // (C)
  Bf16* gx;               // (rows, C) or null; may be gy
  Bf16* gresidual;        // (rows, C) or null; may be gy2
  float *ggamma, *gbeta;  // (C)
  int rows;

  EVERYWHERE void read_ahead(int64_t pack, int slot, Own& own) const {
    own.gy[slot] = read<Bf16, kWidth>(from.gy, pack);
    own.operands[slot] = from.operands.load(pack);
  }
  EVERYWHERE void read_channel(int channel, Own& own) const {
    own.gamma = gamma[channel];
    own.mean = from.mean(channel);
    own.variance = from.variance[channel];
  }

  EVERYWHERE void settle(int channel, const Own& own, float sum, float product, bool writes, Numbers& numbers) const {
    const float inverse = from.inverse_of(own.variance);
    product *= inverse;
    numbers.set(channel, own.gamma, own.mean, inverse, sum, product, static_cast<float>(rows));
    if (!writes) return;
    ggamma[channel] = product;
    gbeta[channel] = sum;
  }

  EVERYWHERE void apply(int64_t pack, int first, int slot, const Own& own, const Numbers& numbers) const {
    const Pack<float, kWidth> g = from.operands.masked(own.gy[slot], own.operands[slot]);
    if (gx) write(gx, pack, numbers.apply(own.operands[slot].x, g, first));
    if (gresidual) write(gresidual, pack, rounded<Bf16>(g));
  }
};

// `part_of` makes a Forward or a Backward for a number of channels.
template <class PartOf> MadeKernel make(const OperatorSpec& spec, const Tensor& sums, DeviceStream& stream, const PartOf& part_of) {
  if (!sums) return nullptr;
  const Image image(spec.inputs[0].shape());
  if (spec.precision != Type::bf16 || !has_tiles(image.c))
    throw Error("INVALID_PROGRAM", spec.kind + ": received partial sums in " + (spec.precision == Type::bf16 ? "bf16" : "f32") + " over " +
                                       std::to_string(image.c) + " channels; they are taken in bf16 over 16, 32 and 64 channels");
  const int64_t tiles = sums.shape().empty() ? 0 : sums.shape().front();
  check_sums(spec, sums.shape(), tiles, image.c);
  return by_channels(image.c, [&]<int C>(std::integral_constant<int, C> channels) {
    const auto part = part_of(channels, image.rows());
    const AddUpAndApply<C, std::decay_t<decltype(part)>> program{part, sums.as<float>(), static_cast<int>(tiles),
                                                                 image.elements() / kWidth};
    return queued([&stream, program] { clusters(stream, program.blocks(), 1, program); });
  });
}

}  // namespace

MadeKernel make_batch_norm_of_partial_sums(const OperatorSpec& spec, DeviceStream& stream) {
  return make(spec, spec.inputs[4], stream, [&]<int C>(std::integral_constant<int, C>, int rows) {
    return Forward<C>{spec.inputs[0].as<Bf16>(),
                      spec.inputs[3].as<Bf16>(),
                      spec.outputs[0].as<Bf16>(),
                      spec.inputs[1].as<float>(),
                      spec.inputs[2].as<float>(),
                      spec.outputs[1].as<float>(),
                      spec.outputs[2].as<float>(),
                      1.0 / rows,
                      static_cast<float>(spec.attributes.number("epsilon")),
                      Bounds(spec.attributes)};
  });
}

MadeKernel make_batch_norm_backward_of_partial_sums(const OperatorSpec& spec, DeviceStream& stream) {
  return make(spec, spec.inputs[7], stream, [&]<int C>(std::integral_constant<int, C>, int rows) {
    return Backward<C>{Gradients<Bf16, kWidth>(spec),
                       spec.inputs[1].as<float>(),
                       spec.outputs[0].as<Bf16>(),
                       spec.outputs[3].as<Bf16>(),
                       spec.outputs[1].as<float>(),
                       spec.outputs[2].as<float>(),
                       rows};
  });
}

}  // namespace arbalest::cuda
