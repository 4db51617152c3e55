#include "core/handles.h"

#include <mutex>

namespace arbalest {
namespace {

struct Entry {
  std::weak_ptr<void> pointer;
  const char* kind;
};

struct List {
  std::mutex mutex;
  std::unordered_map<Handle, Entry> entries;
  Handle next = 1;
  size_t sweep_at = 64;
};

// Never destroyed: worker environments may end after static destruction has begun.
List& list() {
  static List* const living = new List;
  return *living;
}

}  // namespace

Handle publish(const Thing& thing) {
  List& living = list();
  const std::lock_guard lock(living.mutex);
  if (living.entries.size() >= living.sweep_at) {
    std::erase_if(living.entries, [](const auto& entry) { return entry.second.pointer.expired(); });
    living.sweep_at = 2 * living.entries.size() + 64;
  }
  living.entries[living.next] = {thing.pointer, thing.kind};
  return living.next++;
}

Thing find(Handle handle) {
  List& living = list();
  const std::lock_guard lock(living.mutex);
  const auto found = living.entries.find(handle);
  if (found == living.entries.end()) return {};
  return {found->second.pointer.lock(), found->second.kind};
}

}  // namespace arbalest
