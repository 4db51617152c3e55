// The check of one use of `load`, for the fast kernels and for the reference alike.
#pragma once

#include <algorithm>
#include <string>

#include "core/tensor.h"
#include "data/mix.h"

namespace arbalest {

// Throws INVALID_PROGRAM. `use` has ShapeChecks.
template <class Use> void check_load(const Use& use) {
  const Shape& x = use.output(0);
  if (x.size() < 2) use.refuse("shape of output x", shown(x), "give it (N, C, H, W), (N, T, F) or (N, F), or tokens (N, T)");
  if (use.has_output(1) && use.output(1)[0] != x[0]) {
    use.refuse("shape of output target", shown(use.output(1)), "make it a batch of " + std::to_string(x[0]) + " too");
  }
  const int64_t padding = use.whole("padding", 0, 1 << 16), border = use.whole("border", 0, 1), flip = use.whole("flip", 0, 2);
  const int64_t cutout = use.attributes().has("cutout") ? use.whole("cutout", 0, 1 << 16) : 0;
  const MixOptions mixing = mix_options(use.attributes());
  for (const float each : {mixing.mixup, mixing.cutmix}) {
    if (!(each >= 0 && each <= kMostMixing)) use.refuse("mixup or cutmix", std::to_string(each), "give a number from 0 to 2");
  }
  if ((padding != 0 || border != 0 || flip != 0 || cutout != 0 || mixing.any()) && x.size() != 4) {
    use.refuse("padding, border, flip, cutout, mixup or cutmix of samples", shown(x), "use them for images (N, C, H, W) only");
  }
  if (border != 0 && padding >= std::min(x[2], x[3])) {
    use.refuse("padding", std::to_string(padding), "reflect fewer pixels than the shorter side of " + shown(x) + " has");
  }
  for (const char* name : {"mean", "std"}) {
    const size_t given = use.attributes().list(name).size();
    if (given <= 1 || given == static_cast<size_t>(x[1])) continue;
    use.refuse(name, std::to_string(given) + " numbers", "give none, one, or one a channel: " + std::to_string(x[1]));
  }
  for (const double deviation : use.attributes().list("std")) {
    if (!(deviation > 0)) use.refuse("std", std::to_string(deviation), "give numbers above 0");
  }
}

}  // namespace arbalest
