// The stand-in's device memory. Addresses that leave a backend are not the machine's own: whoever touches one directly, as nobody may on a
// GPU, ends with a fault instead of a wrong number on another machine. They say whose they are: as GPUs, devices do not reach into each
// other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arbalest::cuda {

// No processor has memory there.
inline constexpr uintptr_t kDeviceBit = uintptr_t{1} << 62;

inline bool on_device(const void* address) { return (reinterpret_cast<uintptr_t>(address) & kDeviceBit) != 0; }

// Where the device's number stands; the machine's own addresses end below it.
inline constexpr int kNumberShift = 57;
inline constexpr uintptr_t kOwnBits = (uintptr_t{1} << kNumberShift) - 1;

template <class T> T* device_address(T* own, int device) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(own) | kDeviceBit | static_cast<uintptr_t>(device) << kNumberShift);
}

inline int device_of(const void* address) { return static_cast<int>((reinterpret_cast<uintptr_t>(address) & ~kDeviceBit) >> kNumberShift); }

// Of either kind.
template <class T> T* own_address(T* address) { return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) & kOwnBits); }

}  // namespace arbalest::cuda
