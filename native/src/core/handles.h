// Handles: plain numbers that any thread of the process may resolve to native objects. An object lives while some thread holds it; a thread
// holds an object that it made or has resolved, until it releases it or its environment ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/error.h"

namespace arbalest {

// Numbered from 1 and never used twice, below 2^53 so that JavaScript can hold it.
using Handle = uint64_t;

struct NativeObject {
  std::shared_ptr<void> pointer;
  const char* kind = nullptr;  // told apart by its address: a T::kKind is an array, which is one object wherever it is used
};

// Of the process's living objects.
Handle publish(const NativeObject& object);
NativeObject find(Handle handle);  // an empty one where the object is gone

// The objects that one thread's environment holds.
class Holder {
 public:
  template <class T> Handle add(std::shared_ptr<T> pointer) {
    const NativeObject object{std::move(pointer), T::kKind};
    const Handle handle = publish(object);
    held_[handle] = object;
    return handle;
  }

  template <class T> std::shared_ptr<T> get(Handle handle) {
    auto held = held_.find(handle);
    if (held == held_.end()) {
      const NativeObject object = find(handle);
      if (!object.pointer)
        throw Error("STALE_HANDLE", std::string(T::kKind) + ": handle " + std::to_string(handle) +
                                        " stands for nothing any more; it was released, or the thread that made it ended");
      held = held_.emplace(handle, object).first;
    }
    if (held->second.kind != T::kKind)
      throw Error("STALE_HANDLE", "handle: received a " + std::string(held->second.kind) + " where a " + T::kKind + " is needed");
    return std::static_pointer_cast<T>(held->second.pointer);
  }

  void release(Handle handle) { held_.erase(handle); }

 private:
  std::unordered_map<Handle, NativeObject> held_;
};

}  // namespace arbalest
