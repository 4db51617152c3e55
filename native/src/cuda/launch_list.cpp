#include "cuda/launch_list.h"

#include "cuda/device_stream.h"

namespace arbalest::cuda {

bool KeptWork::is_like(const KeptLaunch& other) const {
  const auto* const same = dynamic_cast<const KeptWork*>(&other);
  return same && kind_ == same->kind_;
}

void KeptWork::queue(std::span<const KeptLaunch* const> all, DeviceStream& stream) const {
  std::vector<DeviceStream::Branch> branches;
  for (const KeptLaunch* each : all) {
    const auto* const kept = static_cast<const KeptWork*>(each);
    branches.push_back({kept->stream_, kept->work_});
  }
  stream.run_branches(branches);
}

}  // namespace arbalest::cuda
