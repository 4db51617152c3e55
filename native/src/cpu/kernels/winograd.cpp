#include "cpu/kernels/winograd.h"

#include "cpu/kernels/winograd_tiles.h"

namespace arbalest::kernels::winograd {

bool takes_blocks(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  using namespace convolution_3x3;
  if (layout != kActivations || !has_shapes(request, x, w) || !may_take(request)) return false;
  // The kernels for small images are faster where they multiply pairs.
  const bool pairs = has_pairs(request);
  if (pairs && x[2] == x[3] && x[3] <= kTile) return false;
  // For each channel and each register of filters, in multiply-adds: what the transform of the weights takes; and how many times as long
  // as the products they take with the transforms of the tiles. The sums of pairs reach less of their peak.
  constexpr int64_t kOfWeights = 120, kOfTiles = 3, kOfProducts = 2;
  const auto inside = [](int64_t size) { return kSide * size - 2; };
  const int64_t products = kProducts<kSide> * Tiles(Blocked(x)).count(), direct = x[0] * inside(x[2]) * inside(x[3]);
  return kOfWeights + products * kOfTiles / kOfProducts <= (pairs ? direct * 3 / 4 : direct);
}

}  // namespace arbalest::kernels::winograd
