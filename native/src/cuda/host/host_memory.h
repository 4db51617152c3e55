// The stand-in's device memory. Addresses that leave the backend are not the machine's own: whoever touches one directly, as nobody may on
// a GPU, ends with a fault instead of a wrong number on another machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arbalest::cuda {

// No processor has memory there.
inline constexpr uintptr_t kDeviceBit = uintptr_t{1} << 62;

inline bool on_device(const void* address) { return (reinterpret_cast<uintptr_t>(address) & kDeviceBit) != 0; }

template <class T> T* device_address(T* own) { return own ? reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(own) | kDeviceBit) : nullptr; }

// Of either kind.
template <class T> T* own_address(T* address) { return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) & ~kDeviceBit); }

}  // namespace arbalest::cuda
