// Layouts by name. "plain" is canonical. Activations have the names that the kernel libraries share ("nhwc", "nChw8c", ...); all others are
// oneDNN's own tags. The weights of a grouped convolution are (O, I/groups, KH, KW) to us and (groups, O/groups, I/groups, KH, KW) to
// oneDNN: the same memory in canonical order. The name of such a layout of five dimensions ends in its groups: "Abcde8a/32" has 32.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "core/tensor.h"

namespace arbalest {

// A layout that oneDNN is free to choose.
inline constexpr std::string_view kAny = "";

dnnl::memory::data_type data_type_of(Type type);  // throws UNSUPPORTED_PRECISION for f64

// `groups` > 1: a convolution's weights, which get five dimensions. Throws INVALID_PROGRAM if the layout's name is unknown or does not fit
// the shape.
dnnl::memory::desc descriptor_of(const TensorSpec& spec, int64_t groups = 1);

// The name of a descriptor's layout; empty if it has none, so that it cannot be asked for by name.
std::string layout_of(const dnnl::memory::desc& descriptor, const TensorSpec& spec, int64_t groups = 1);

// One channel, or one pixel: "plain" and "nhwc" are the same memory.
bool is_plain_and_nhwc(const Shape& shape);

// The groups in the layout's name; 1 if the name has none.
int64_t groups_of(std::string_view layout);

// Bytes of the tensor in its layout, padding included.
size_t bytes_of(const TensorSpec& spec);

}  // namespace arbalest
