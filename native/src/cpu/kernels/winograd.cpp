#include "cpu/kernels/winograd.h"

#include "cpu/kernels/tiles.h"
#include "cpu/kernels/winograd_tiles.h"

namespace arbalest::kernels::winograd {

bool takes_blocks(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  using namespace convolution_3x3;
  if (layout != kActivations || !has_shapes(request, x, w)) return false;
  // In bfloat16 AMX has sixteen times as many multiply-adds as float32, and pairs have twice as many: there small images have faster
  // kernels.
  const bool is_bf16 = request.precision == Type::bf16, pairs = is_bf16 && kLanes == 16;
  if ((is_bf16 && has_tiles()) || (pairs && x[2] == x[3] && x[3] <= kTile)) return false;
  // For each channel and each register of filters, in multiply-adds. The products are two thirds of what a tile takes, its transforms the
  // rest. Sums of pairs take half the multiply-adds, and reach two thirds of their peak.
  constexpr int64_t kOfWeights = 120;
  const auto inside = [](int64_t size) { return kSide * size - 2; };
  const int64_t products = kProducts<kSide> * Tiles(Blocked(x)).count(), direct = x[0] * inside(x[2]) * inside(x[3]);
  return kOfWeights + products * 3 / 2 <= (pairs ? direct * 3 / 4 : direct);
}

}  // namespace arbalest::kernels::winograd
