#include "device/parameter_vectors.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace arbalest {

Memory::Memory(DeviceMemory& device, size_t bytes)
    : holder_(device.holder()), device_(&device), data_(bytes ? device.allocate(bytes) : nullptr), bytes_(bytes) {}

Memory::Memory(Memory&& other) noexcept
    : holder_(std::move(other.holder_)),
      device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(holder_, other.holder_);
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (data_) device_->release(data_, bytes_);
}

void copy_across(const Memory& from, const Memory& to, size_t begin, size_t end) {
  DeviceMemory &here = *from.device(), &there = *to.device();
  if (here.reaches(there)) return here.copy(to.data() + begin, from.data() + begin, end - begin);
  if (there.reaches(here)) return there.copy(to.data() + begin, from.data() + begin, end - begin);
  constexpr size_t kPiece = size_t{4} << 20;
  std::vector<std::byte> between;
  for (size_t at = begin; at < end; at += kPiece) {
    between.resize(std::min(kPiece, end - at));
    here.read(between.data(), from.data() + at, between.size());
    there.write(to.data() + at, between.data(), between.size());
  }
}

namespace {

// One parameter as it lies in a vector, and as it lies in canonical order.
Tensor placed(const PlacedParameter& parameter, const std::byte* vector) {
  return {parameter.spec, const_cast<std::byte*>(vector) + parameter.offset};
}

Tensor canonical(const PlacedParameter& parameter, const std::byte* canonical) {
  return {{parameter.spec.type, parameter.spec.shape, std::string(kPlain)},
          const_cast<std::byte*>(canonical) + parameter.canonical_offset * size_of(parameter.spec.type)};
}

template <class T> bool each_is_finite(DeviceMemory& device, const std::byte* vector, size_t begin, size_t end) {
  std::vector<T> values(end - begin);
  device.read(values.data(), vector + begin * sizeof(T), values.size() * sizeof(T));
  return std::ranges::all_of(values, [](T value) { return std::isfinite(value); });
}

}  // namespace

bool are_finite(Backend& backend, Type type, const std::byte* vector, size_t begin, size_t end) {
  const VectorPart part{vector, begin, end};
  double squares = 0;
  backend.squares(type, {&part, 1}, {&squares, 1});
  if (std::isfinite(squares)) return true;
  // The squares of large finite numbers overflow: look at the numbers themselves.
  return type == Type::f64 ? each_is_finite<double>(backend, vector, begin, end) : each_is_finite<float>(backend, vector, begin, end);
}

void check_sizes(Operators& operators, const ParameterLayout& layout) {
  for (const PlacedParameter& parameter : layout.parameters)
    if (parameter.bytes < operators.bytes(parameter.spec))
      throw Error("INVALID_PROGRAM", "parameter " + parameter.name + ": it has " + std::to_string(parameter.bytes) +
                                         " bytes where its layout takes " + std::to_string(operators.bytes(parameter.spec)));
}

void to_canonical(Operators& operators, const ParameterLayout& layout, const std::byte* vector, std::byte* out) {
  for (const PlacedParameter& parameter : layout.parameters) operators.reorder(placed(parameter, vector), canonical(parameter, out));
}

void from_canonical(Operators& operators, const ParameterLayout& layout, const std::byte* in, std::byte* vector) {
  for (const PlacedParameter& parameter : layout.parameters) operators.reorder(canonical(parameter, in), placed(parameter, vector));
}

}  // namespace arbalest
