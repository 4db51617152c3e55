// Layouts by name. "plain" is canonical; activations go by the names that the kernel libraries share ("nhwc", "nChw8c", ...); all else is
// oneDNN's own tag. The weights of a grouped convolution are (O, I/groups, KH, KW) to us and (groups, O/groups, I/groups, KH, KW) to
// oneDNN: the same memory in canonical order. A layout of such five dimensions says so at its end: "Abcde8a/32" has 32 groups.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "core/tensor.h"

namespace arbalest {

// A layout that oneDNN is free to choose.
inline constexpr std::string_view kAny = "";

dnnl::memory::data_type data_type_of(Type type);  // throws UNSUPPORTED_PRECISION for f64

// `groups` > 1: a convolution's weights, which get five dimensions. Throws INVALID_PROGRAM where the layout's name is not known or does not
// fit the shape.
dnnl::memory::desc descriptor_of(const TensorSpec& spec, int64_t groups = 1);

// The name of a descriptor's layout; empty where it has none and can therefore not be asked for again.
std::string layout_of(const dnnl::memory::desc& descriptor, const TensorSpec& spec, int64_t groups = 1);

// One channel, or one pixel: "plain" and "nhwc" are the same memory.
bool is_plain_and_nhwc(const Shape& shape);

// Groups that the layout's name tells of; 1 where it tells of none.
int64_t groups_of(std::string_view layout);

// Bytes of the tensor in its layout, padding included.
size_t bytes_of(const TensorSpec& spec);

}  // namespace arbalest
