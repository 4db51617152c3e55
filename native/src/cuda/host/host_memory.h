// The stand-in's device memory. Its addresses are not those of the machine: code that reads or writes one directly, which a GPU's memory
// does not allow, ends with a fault instead of a wrong number. An address contains the number of its device: as with GPUs, devices cannot
// access each other's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arbalest::cuda {

// No processor has memory there.
inline constexpr uintptr_t kDeviceBit = uintptr_t{1} << 62;

inline bool on_device(const void* address) { return (reinterpret_cast<uintptr_t>(address) & kDeviceBit) != 0; }

// The bits of the device's number; the machine's own addresses are below them.
inline constexpr int kNumberShift = 57;
inline constexpr uintptr_t kOwnBits = (uintptr_t{1} << kNumberShift) - 1;

template <class T> T* device_address(T* own, int device) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(own) | kDeviceBit | static_cast<uintptr_t>(device) << kNumberShift);
}

inline int device_of(const void* address) { return static_cast<int>((reinterpret_cast<uintptr_t>(address) & ~kDeviceBit) >> kNumberShift); }

// The machine's address of either kind of address.
template <class T> T* own_address(T* address) { return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) & kOwnBits); }

}  // namespace arbalest::cuda
