// The gradient of the weights of a convolution of 1x1 in bfloat16, by multiply-adds of pairs (AVX512_BF16): a product of matrices over all
// pixels of the batch. Here a pair is two pixels that follow each other, in the next row or image too. Chunks of pixels are packed into
// panels of pairs that the second cache holds; from them tiles of sums are computed in registers.
#include "cpu/kernels/blocked_convolution.h"

#if defined(__AVX512BF16__)

#include <algorithm>
#include <vector>

#include "cpu/kernels/fetch_ahead.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/pairs.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/product.h"
#include "cpu/kernels/tiles.h"

namespace arbalest::kernels {
namespace {

// Pairs of pixels that are packed before they are multiplied, and registers of all their channels together, which the second cache holds.
constexpr int64_t kLeastPairs = 64, kMostPairs = 192, kPackedRegisters = 10000;
// Pixels between one that is packed and one that is fetched.
constexpr size_t kAhead = kBytesAhead / (kLanes * sizeof(bf16));
// Between panels, so that they do not share the same places of the caches.
constexpr int64_t kGap = kLanes;
// Blocks of filters and rows of channels whose sums are kept in registers.
constexpr int64_t kTileBlocks = 3;
constexpr int kRows = kLanes / 2;

class PointwiseWeights final : public Kernel {
 public:
  explicit PointwiseWeights(const OperatorSpec& spec)
      : x_(spec.inputs[0].shape()),
        y_(spec.inputs[1].shape()),
        x_steps_(x_, spec.inputs[0].spec.layout),
        y_steps_(y_, spec.inputs[1].spec.layout),
        down_(static_cast<int64_t>(spec.attributes.list("stride")[0])),
        across_(static_cast<int64_t>(spec.attributes.list("stride")[1])),
        from_(input<bf16>(spec, 0)),
        gy_(input<bf16>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        pairs_(pairs_of(x_, y_)),
        panels_(spec, elements(x_, y_)) {
    for (int64_t first = 0; first < y_.blocks; first += groups_.back().blocks)
      groups_.push_back({first, even_share(y_.blocks - first, kTileBlocks)});
    places_.reserve(static_cast<size_t>(2 * pairs_));
    for (const Group& group : groups_) {
      for (int64_t block = 0; block < group.blocks; ++block)
        gy_panels_.push_back({gy_panel(group) + block * kLanes, group.blocks * kLanes});
    }
  }

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return elements(Blocked(shapes.input(0)), Blocked(shapes.input(1))) * sizeof(Pair);
  }

  // Blocks of weights are independent of each other: threads share them.
  void run(const StepContext&) override {
    const int64_t pixels = y_.images * y_.height * y_.width, work = pixels * y_.blocks * x_.blocks * kLanes;
    Position at;
    for (int64_t first = 0; first < pixels; first += 2 * pairs_) {
      find(at, std::min(pixels - first, 2 * pairs_));
      for_each(x_.blocks + y_.blocks, work, [&](int64_t block) { pack(block); });
      for_each(static_cast<int64_t>(groups_.size()) * x_.blocks, work,
               [&](int64_t item) { add(groups_[static_cast<size_t>(item / x_.blocks)], item % x_.blocks, first > 0); });
    }
    if (gb_) sum_biases(y_, y_steps_, gy_, gb_);
  }

 private:
  // Blocks of filters that lie together in a panel.
  struct Group {
    int64_t first, blocks;
  };
  // Of an output.
  struct Position {
    int64_t image = 0, row = 0, column = 0;
  };
  // How far a pixel of x and of gy is from the first one.
  struct Place {
    int64_t x, gy;
  };

  // Where a block's pairs lie, and how far it is from one to the next.
  struct Panel {
    Pair* first;
    int64_t step;
  };

  static int64_t pairs_of(const Blocked& x, const Blocked& y) {
    return std::clamp(kPackedRegisters / (x.blocks + y.blocks), kLeastPairs, kMostPairs);
  }
  static int64_t panel_of(int64_t pairs) { return pairs * kLanes + kGap; }
  static size_t elements(const Blocked& x, const Blocked& y) {
    return static_cast<size_t>((x.blocks + y.blocks) * panel_of(pairs_of(x, y)));
  }

  Pair* x_panel(int64_t block) const { return &panels_[0] + block * panel_of(pairs_); }
  Pair* gy_panel(const Group& group) const { return x_panel(x_.blocks + group.first); }

  // The places of the next `count` outputs.
  void find(Position& at, int64_t count) {
    places_.clear();
    for (int64_t i = 0; i < count; ++i) {
      places_.push_back({at.image * x_steps_.image + at.row * down_ * x_steps_.row + at.column * across_ * x_steps_.pixel,
                         at.image * y_steps_.image + at.row * y_steps_.row + at.column * y_steps_.pixel});
      if (++at.column < y_.width) continue;
      at.column = 0;
      if (++at.row < y_.height) continue;
      at.row = 0;
      ++at.image;
    }
  }

  // Of the blocks of x, then those of gy.
  void pack(int64_t block) const {
    if (block < x_.blocks)
      pack<&Place::x>(from_ + block * x_steps_.block, x_steps_.block, {x_panel(block), kLanes});
    else
      pack<&Place::gy>(gy_ + (block - x_.blocks) * y_steps_.block, y_steps_.block, gy_panels_[static_cast<size_t>(block - x_.blocks)]);
  }

  // A last pixel without a partner is paired with zeros. Pixels of the next block are fetched, too.
  template <int64_t Place::*place> void pack(const bf16* from, int64_t next, const Panel& panel) const {
    const size_t count = places_.size();
    Pair* to = panel.first;
    size_t i = 0;
    for (; i + 1 < count; i += 2, to += panel.step) {
      const size_t ahead = i + kAhead;
      __builtin_prefetch(ahead < count ? from + places_[ahead].*place : from + next + places_[std::min(ahead - count, count - 1)].*place);
      store(to, paired_exactly(load(from + places_[i].*place), load(from + places_[i + 1].*place)));
    }
    if (i < count) store(to, paired_exactly(load(from + places_[i].*place), Floats{}));
  }

  void add(const Group& group, int64_t channels, bool more) const {
    if (group.blocks == 3)
      add_tiles<kRows, 3>(group, channels, more);
    else if (group.blocks == 2)
      add_tiles<kRows, 2>(group, channels, more);
    else
      add_tiles<kLanes, 1>(group, channels, more);
  }

  // The weights between a block of channels and a group of filters: adds what these pixels give, or begins with it.
  template <int Rows, int Blocks> [[gnu::noinline]] void add_tiles(const Group& group, int64_t block, bool more) const {
    const auto pairs = static_cast<int64_t>((places_.size() + 1) / 2);
    const int64_t next = x_.blocks * kTapSize;
    for (int row = 0; row < kLanes; row += Rows) {
      float* const sums = gw_ + (group.first * x_.blocks + block) * kTapSize + row * kLanes;
      for (int v = 0; v < Blocks; ++v) {
        for (int i = 0; i < Rows; ++i) __builtin_prefetch(sums + v * next + i * kLanes, 1);
      }
      const StridedOf<Pair> channels{x_panel(block) + row, 1, kLanes};
      tile<Rows, Blocks>(channels, gy_panel(group), Blocks * kLanes, {pairs}, [sums, next, more](int64_t i, int64_t v, Floats sum) {
        float* const at = sums + v * next + i * kLanes;
        store(at, more ? load(at) + sum : sum);
      });
    }
  }

  const Blocked x_, y_;
  const Steps x_steps_, y_steps_;
  const int64_t down_, across_;
  const bf16 *from_, *gy_;  // (N, I, H, W), (N, O, OH, OW)
  float *gw_, *gb_;         // (O, I, 1, 1) in rows of filters, (O)
  std::vector<Group> groups_;
  std::vector<Panel> gy_panels_;  // by block
  const int64_t pairs_;           // that are packed together, at most
  std::vector<Place> places_;     // of the pixels that are packed
  PlannedItems<Pair> panels_;
};

bool takes(const LoweringRequest& request, const std::string& layout) {
  const Attributes& attributes = request.attributes;
  const Shape x = shape_at(request.inputs, 0), y = shape_at(request.inputs, 1), w = shape_at(request.outputs, 0);
  if (has_tiles() || request.precision != Type::bf16 || attributes.number("groups", 1) != 1) return false;
  if (x.size() != 4 || w.size() != 4 || y.size() != 4 || w != Shape{w[0], x[1], 1, 1} || w[0] != y[1]) return false;
  if (attributes.list("padding") != std::vector<double>{0, 0}) return false;
  return layout == kActivations || (layout == "nhwc" && x[1] % kLanes == 0 && w[0] % kLanes == 0);
}

void check(const Shapes& shapes) {
  const Shape &x = shapes.input(0), &w = shapes.output(0);
  const std::array<int64_t, 2> stride = shapes.whole_pair("stride", 1);
  shapes.input_is(1, {x[0], w[0], (x[2] - 1) / stride[0] + 1, (x[3] - 1) / stride[1] + 1});
  if (shapes.has_output(1)) shapes.output_is(1, {w[0]});
}

std::vector<Operator> operators() {
  using enum Role;
  return {{.kind = "conv2dBackwardWeights",
           .inputs = {{"x", activation}, {"gy", activation}},
           .outputs = {{"gw", filters}, {"gb", parameter, true}},
           .check = check,
           .make = make_only<PointwiseWeights>,
           .scratch = PointwiseWeights::scratch,
           .takes = takes,
           .filters = kRowsOfFilters}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels

#endif
