// The weights of a linear layer, f32 and plain, as products in bfloat16 multiply them: in blocks of outputs and of features, and in a block
// pairs of features by output. The values of a pair lie side by side, so that a square of pairs is transposed as if they were floats.
#include <algorithm>
#include <optional>
#include <string_view>

#include "cpu/kernels/inner_extents.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/pairs.h"
#include "cpu/kernels/parallel.h"

#if defined(__AVX512BF16__)

namespace arbalest::kernels {
namespace {

// Outputs of a square, and its features: a register of pairs.
constexpr int64_t kSide = kLanes, kFeatures = 2 * kLanes;

// Of a block.
struct BlockOrder {
  int64_t pairs, outputs;
};

// From oneDNN's name, in which A are outputs and B are features: AB8b64a2b.
std::optional<BlockOrder> block_order_of(std::string_view layout) {
  if (!layout.starts_with("AB")) return std::nullopt;
  layout.remove_prefix(2);
  const int64_t pairs = take_extent(layout, 'b'), outputs = take_extent(layout, 'a');
  const bool in_squares = (pairs == kSide / 2 || pairs == kSide) && outputs > 0 && outputs % kSide == 0;
  return in_squares && layout == "2b" ? std::optional(BlockOrder{pairs, outputs}) : std::nullopt;
}

class PairMatrix final : public Kernel {
 public:
  explicit PairMatrix(const OperatorSpec& spec)
      : order_(*block_order_of(spec.outputs[0].spec.layout)),
        outputs_(spec.inputs[0].shape()[0]),
        features_(spec.inputs[0].shape()[1]),
        from_(input<float>(spec, 0)),
        to_(spec.outputs[0].as<uint16_t>()) {}

  // Outputs and features beyond the last are zeros, as many as fill the last blocks.
  void run(const StepContext&) override {
    const int64_t blocks = (outputs_ + order_.outputs - 1) / order_.outputs, squares = blocks * order_.outputs / kSide;
    for_each(squares, outputs_ * features_, [&](int64_t square) {
      const auto rows = static_cast<int>(std::clamp<int64_t>(outputs_ - square * kSide, 0, kSide));
      for (int64_t feature = 0; feature < features_; feature += kFeatures) transpose_square(square * kSide, rows, feature);
    });
  }

 private:
  void transpose_square(int64_t output, int rows, int64_t feature) const {
    const int64_t left = features_ - feature;
    Floats square[kSide];
    for (int i = 0; i < kSide; ++i) {
      Floats first{}, second{};
      if (i < rows) {
        const float* const row = from_ + (output + i) * features_ + feature;
        first = left >= kSide ? load(row) : load(row, static_cast<int>(left));
        if (left > kSide) second = left >= kFeatures ? load(row + kSide) : load(row + kSide, static_cast<int>(left - kSide));
      }
      square[i] = reinterpret_cast<Floats>(as_neighbours(first, second));
    }
    transpose(square);
    const int64_t block_pairs = order_.pairs, feature_blocks = (features_ + 2 * block_pairs - 1) / (2 * block_pairs);
    const int64_t block = output / order_.outputs * feature_blocks + feature / (2 * block_pairs);
    uint16_t* const to = to_ + (block * block_pairs * order_.outputs + output % order_.outputs) * 2;
    const int64_t pairs = std::min<int64_t>(kSide, (feature_blocks - feature / (2 * block_pairs)) * block_pairs);
    for (int64_t pair = 0; pair < pairs; ++pair) std::memcpy(to + pair * order_.outputs * 2, &square[pair], sizeof square[pair]);
  }

  const BlockOrder order_;
  const int64_t outputs_, features_;
  const float* from_;  // (O, F)
  uint16_t* to_;
};

void check(const Shapes& shapes) { shapes.output_is(0, shapes.input(0)); }

bool takes_reorder(const LoweringRequest& request, const std::string&) {
  if (request.inputs.size() != 1 || request.outputs.size() != 1) return false;
  const TensorSpec &from = request.inputs[0], &to = request.outputs[0];
  return from.type == Type::f32 && to.type == Type::bf16 && from.shape.size() == 2 && from.layout == kPlain && block_order_of(to.layout);
}

std::vector<Operator> operators() {
  return {{.kind = "reorder",
           .inputs = {{"weights", Role::offered}},
           .outputs = {{"blocks", Role::offered}},
           .check = check,
           .make = make_only<PairMatrix>,
           .takes = takes_reorder}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels

#endif
