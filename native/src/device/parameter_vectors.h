// Vectors laid out like the parameters: the memory that owns them, and copies to and from canonical order.
#pragma once

#include <memory>

#include "core/program.h"
#include "device/backend.h"

namespace arbalest {

// Zeroed memory of one device, released by the destructor.
class Memory {
 public:
  Memory() = default;
  Memory(DeviceMemory& device, size_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t bytes() const { return bytes_; }
  // Where it lies; null for an object without memory.
  DeviceMemory* device() const { return device_; }

 private:
  std::shared_ptr<void> holder_;  // of the device
  DeviceMemory* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Bytes [begin, end), between any two devices; queued on one that reaches into the other, or done when the call returns.
void copy_across(const Memory& from, const Memory& to, size_t begin, size_t end);

// Throws INVALID_PROGRAM if a parameter has fewer bytes than its layout takes, or a layout that the backend does not know.
void check_sizes(Operators& operators, const ParameterLayout& layout);

// Whether all elements [begin, end) of a vector are finite numbers. Done when the call returns.
bool are_finite(Backend& backend, Type type, const std::byte* vector, size_t begin, size_t end);

// `canonical` has layout.elements numbers of the layout's type, `vector` has layout.bytes.
void to_canonical(Operators& operators, const ParameterLayout& layout, const std::byte* vector, std::byte* canonical);
void from_canonical(Operators& operators, const ParameterLayout& layout, const std::byte* canonical, std::byte* vector);

}  // namespace arbalest
