// Vectors laid out like the parameters: owned memory, and the way to and from canonical order.
#pragma once

#include <memory>

#include "core/program.h"
#include "device/backend.h"

namespace arbalest {

// Zeroed memory of one backend, given back when it goes.
class Memory {
 public:
  Memory() = default;
  Memory(Backend& backend, size_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t bytes() const { return bytes_; }
  // Null where there is none.
  Backend* backend() const { return backend_; }

 private:
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Throws INVALID_PROGRAM where a parameter has fewer bytes than its layout takes on the backend, or a layout that it does not know.
void check_sizes(Backend& backend, const ParameterLayout& layout);

// Whether all elements [begin, end) of a vector are finite numbers; done when the call returns.
bool are_finite(Backend& backend, Type type, const std::byte* vector, size_t begin, size_t end);

// `canonical` holds layout.elements numbers of the layout's type; `vector` holds layout.bytes.
void to_canonical(Backend& backend, const ParameterLayout& layout, const std::byte* vector, std::byte* canonical);
void from_canonical(Backend& backend, const ParameterLayout& layout, const std::byte* canonical, std::byte* vector);

}  // namespace arbalest
