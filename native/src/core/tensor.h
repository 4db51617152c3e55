// What a tensor is to native code: element type, shape, layout by name, and (once bound) where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arbalest {

enum class Type : uint8_t { f32, f64, bf16, i32, u8 };

constexpr size_t size_of(Type type) {
  switch (type) {
    case Type::f64: return 8;
    case Type::f32:
    case Type::i32: return 4;
    case Type::bf16: return 2;
    case Type::u8: return 1;
  }
  return 0;
}

using Shape = std::vector<int64_t>;

inline std::string shown(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

inline int64_t elements_of(const Shape& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

// The axis of an activation's channels: of images (N, C, H, W) and features (N, F) the second one, of sequences (N, T, F) the last.
inline size_t channel_axis(const Shape& shape) { return shape.size() == 3 ? 2 : 1; }

// With the channels as the second axis: positions of sequences lie like samples.
inline Shape channels_second(const Shape& shape) { return shape.size() == 3 ? Shape{shape[0] * shape[1], shape[2]} : shape; }

// The canonical layout: row-major, PyTorch's order. Every other name belongs to the backend that gave it.
inline constexpr std::string_view kPlain = "plain";

struct TensorSpec {
  Type type = Type::f32;
  Shape shape;
  std::string layout;  // empty: the backend may choose
};

// A tensor in memory; a null pointer with an empty shape stands for an operator's missing optional input or unwanted output.
struct Tensor {
  TensorSpec spec;
  void* data = nullptr;

  explicit operator bool() const { return data != nullptr; }
  template <class T> T* as() const { return static_cast<T*>(data); }
  const Shape& shape() const { return spec.shape; }
};

}  // namespace arbalest
