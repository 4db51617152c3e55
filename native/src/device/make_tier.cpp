#include "device/make_tier.h"

#include "device/spill_file.h"
#include "device/transfer_queue.h"

namespace arbalest {

std::unique_ptr<HostTier> make_tier(Backend& backend, size_t bytes, const HostTierSpec& spec) {
  if (bytes == 0) return nullptr;
  if (backend.capabilities().own_memory) return backend.host_tier(bytes, spec.timing);
  if (spec.timing) return std::make_unique<TransferQueue>(memory_storage(bytes), spec.timing);
  if (spec.folder.empty())
    throw Error("INVALID_OPTION", "spill: received no folder for a program that moves " + std::to_string(bytes) +
                                      " bytes; give one on a disk, or compile the program without moving");
  return std::make_unique<TransferQueue>(spill_file(spec.folder, bytes));
}

}  // namespace arbalest
