// The weights of a convolution, f32 in rows of filters, as convolutions in bfloat16 multiply them: in pairs. Their forward pass takes pairs
// of channels of one filter, and the gradient of x pairs of filters of one channel. The values of a pair lie side by side.
#include <algorithm>
#include <optional>
#include <string_view>

#include "cpu/kernels/blocked_convolution.h"
#include "cpu/kernels/inner_extents.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/pairs.h"
#include "cpu/kernels/parallel.h"

#if defined(__AVX512F__)

namespace arbalest::kernels {
namespace {

// A tile is what lies between a block of channels and one of filters at one tap: a row of filters for each channel.
constexpr int64_t kSide = kLanes, kTile = kSide * kSide, kPairs = kSide / 2;

// An order of pairs: blocks of filters, blocks of channels and taps; in them pairs of channels by filter, or pairs of filters by channel.
struct PairOrder {
  bool of_channels;
  int64_t channels, filters;  // of a block
  bool taps_first;            // the blocks of channels follow the taps
};

// From oneDNN's name, in which A are filters and B are channels.
std::optional<PairOrder> pair_order_of(std::string_view layout) {
  const bool taps_first = layout.starts_with("AcdB");
  if (!taps_first && !layout.starts_with("ABcd")) return std::nullopt;
  layout.remove_prefix(4);
  const int64_t pairs = take_extent(layout, 'b'), outer = take_extent(layout, 'a');
  if (outer == 0) return std::nullopt;
  if (pairs > 0) return layout == "2b" ? std::optional(PairOrder{true, 2 * pairs, outer, taps_first}) : std::nullopt;
  const int64_t channels = take_extent(layout, 'b');
  if (channels == 2 && layout.empty() && taps_first) return PairOrder{true, channels, outer, taps_first};
  if (channels == kSide && layout == "2a" && !taps_first) return PairOrder{false, channels, 2 * outer, taps_first};
  return std::nullopt;
}

class PairWeights final : public Kernel {
 public:
  explicit PairWeights(const OperatorSpec& spec)
      : order_(*pair_order_of(spec.outputs[0].spec.layout)),
        filters_(spec.inputs[0].shape()[0] / kSide),
        channels_(spec.inputs[0].shape()[1] / kSide),
        taps_(spec.inputs[0].shape()[2] * spec.inputs[0].shape()[3]),
        from_(input<float>(spec, 0)),
        to_(spec.outputs[0].as<Pair>()) {}

  void run(const StepContext&) override {
    const int64_t blocks = order_.filters / kSide;
    for_each((filters_ + blocks - 1) / blocks, filters_ * channels_ * taps_ * kTile, [&](int64_t block) {
      if (order_.of_channels)
        pair_channels(block * blocks);
      else
        pair_filters(block * blocks);
    });
  }

 private:
  const float* tile(int64_t filters, int64_t channels, int64_t tap) const {
    return from_ + ((filters * channels_ + channels) * taps_ + tap) * kTile;
  }

  // In the order in which they are written.
  template <class Body> void for_tiles(const Body& body) const {
    const int64_t together = order_.taps_first ? channels_ : order_.channels / kSide;
    for (int64_t block = 0; block < channels_; block += together)
      for (int64_t tap = 0; tap < taps_; ++tap)
        for (int64_t channels = block; channels < block + together; ++channels) body(channels, tap);
  }

  void pair_channels(int64_t first) const {
    const int64_t blocks = order_.filters / kSide;
    Pair* to = to_ + first * channels_ * taps_ * kTile / 2;
    for_tiles([&](int64_t channels, int64_t tap) {
      for (int64_t i = 0; i < blocks; ++i) fetch(tile(first + i, channels, tap));
      for (int64_t pair = 0; pair < kPairs; ++pair) {
        for (int64_t i = 0; i < blocks; ++i, to += kSide) {
          const float* rows = tile(first + i, channels, tap) + 2 * pair * kSide;
          store(to, paired(load(rows), load(rows + kSide)));
        }
      }
    });
  }

  // Filters beyond the last one are zeros.
  void pair_filters(int64_t first) const {
    const int64_t blocks = order_.filters / kSide;
    Pair* to = to_ + first * channels_ * taps_ * kTile / 2;
    for_tiles([&](int64_t channels, int64_t tap) {
      for (int64_t i = 0; i < blocks && first + i < filters_; ++i) fetch(tile(first + i, channels, tap));
      // A row of filters is eight pairs: those of two rows are exchanged with their channels as if they were floats.
      Floats rows[kSide];
      for (int64_t channel = 0; channel < kSide; ++channel) {
        const auto row = [&](int64_t i) {
          const bool is_there = i < blocks && first + i < filters_;
          return is_there ? load(tile(first + i, channels, tap) + channel * kSide) : Floats{};
        };
        rows[channel] = reinterpret_cast<Floats>(as_neighbours(row(0), row(1)));
      }
      transpose(rows);
      for (int64_t pair = 0; pair < order_.filters / 2; ++pair, to += kSide) store(to, reinterpret_cast<Words>(rows[pair]));
    });
  }

  // Tiles that follow each other in the result lie apart here, which the processor's own prefetching does not foresee.
  void fetch(const float* tile) const {
    const float* const ahead = tile + (order_.taps_first ? 2 * taps_ : 2) * kTile;
    for (int64_t row = 0; row < kSide; ++row) __builtin_prefetch(ahead + row * kSide);
  }

  const PairOrder order_;
  const int64_t filters_, channels_;  // blocks
  const int64_t taps_;
  const float* from_;  // (O, I, KH, KW) in rows of filters
  Pair* to_;
};

void check(const Shapes& shapes) { shapes.output_is(0, shapes.input(0)); }

bool takes_reorder(const LoweringRequest& request, const std::string&) {
  if (request.inputs.size() != 1 || request.outputs.size() != 1) return false;
  const TensorSpec &from = request.inputs[0], &to = request.outputs[0];
  if (from.type != Type::f32 || to.type != Type::bf16 || from.shape.size() != 4 || from.layout != kRowsOfFilters) return false;
  if (from.shape[0] % kSide != 0 || from.shape[1] % kSide != 0) return false;
  const auto order = pair_order_of(to.layout);
  if (!order || order->filters % kSide != 0) return false;
  if (order->of_channels) {
    const bool blocks_align = order->taps_first || order->channels % kSide == 0;
    return blocks_align && from.shape[0] % order->filters == 0 && from.shape[1] % order->channels == 0;
  }
  // What is missing in a last pair of blocks is written as zeros.
  return order->filters <= 2 * kSide;
}

std::vector<Operator> operators() {
  return {{.kind = "reorder",
           .inputs = {{"weights", Role::offered}},
           .outputs = {{"pairs", Role::offered}},
           .check = check,
           .make = make_only<PairWeights>,
           .takes = takes_reorder}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels

#endif
