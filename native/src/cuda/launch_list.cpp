#include "cuda/launch_list.h"

namespace arbalest::cuda {

bool KeptWork::is_like(const KeptLaunch& other) const {
  const auto* const same = dynamic_cast<const KeptWork*>(&other);
  return same && kind_ == same->kind_;
}

}  // namespace arbalest::cuda
