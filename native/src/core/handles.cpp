#include "core/handles.h"

#include <mutex>

namespace arbalest {
namespace {

struct Published {
  std::weak_ptr<void> pointer;
  const char* kind;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<Handle, Published> entries;
  Handle next = 1;
  size_t sweep_at = 64;
};

// Never destroyed: worker environments may end after static destruction has begun.
Registry& registry() {
  static Registry* const living = new Registry;
  return *living;
}

}  // namespace

Handle publish(const NativeObject& object) {
  Registry& living = registry();
  const std::lock_guard lock(living.mutex);
  if (living.entries.size() >= living.sweep_at) {
    std::erase_if(living.entries, [](const auto& entry) { return entry.second.pointer.expired(); });
    living.sweep_at = 2 * living.entries.size() + 64;
  }
  living.entries[living.next] = {object.pointer, object.kind};
  return living.next++;
}

NativeObject find(Handle handle) {
  Registry& living = registry();
  const std::lock_guard lock(living.mutex);
  const auto found = living.entries.find(handle);
  if (found == living.entries.end()) return {};
  return {found->second.pointer.lock(), found->second.kind};
}

}  // namespace arbalest
