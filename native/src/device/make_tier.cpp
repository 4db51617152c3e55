#include "device/make_tier.h"

#include "core/transfers.h"
#include "device/exact_storage.h"
#include "device/spill_file.h"
#include "device/transfer_queue.h"

namespace arbalest {
namespace {

void check_folder(const HostTierSpec& spec, size_t bytes) {
  if (!spec.folder.empty()) return;
  throw Error("INVALID_OPTION", "spill: received no folder for a program that moves " + std::to_string(bytes) +
                                    " bytes; give one on a disk, or compile the program without moving");
}

}  // namespace

std::unique_ptr<HostTier> make_tier(Backend& backend, size_t bytes, const HostTierSpec& spec) {
  if (bytes == 0) return nullptr;
  if (backend.capabilities().own_memory) return backend.host_tier(bytes, spec.timing);
  if (spec.timing) return std::make_unique<TransferQueue>(memory_storage(bytes), spec.timing);
  check_folder(spec, bytes);
  return std::make_unique<TransferQueue>(spill_file(spec.folder, bytes));
}

std::unique_ptr<HostTier> make_exact_tier(Backend& backend, size_t bytes, const HostTierSpec& spec) {
  if (bytes == 0) return nullptr;
  if (backend.capabilities().own_memory) return backend.host_tier(bytes, spec.timing);
  const size_t room = whole_units(bytes);
  if (spec.timing) return std::make_unique<TransferQueue>(exact_storage(memory_storage(room)), spec.timing);
  check_folder(spec, bytes);
  return std::make_unique<TransferQueue>(exact_storage(spill_file(spec.folder, room)));
}

}  // namespace arbalest
