#include "cpu/onednn/layouts.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "core/error.h"
#include "cpu/onednn/onednn_compat.h"

namespace arbalest {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

constexpr std::array kPlainTags{tag::a, tag::ab, tag::abc, tag::abcd, tag::abcde, tag::abcdef};
constexpr std::array<std::pair<std::string_view, tag>, 4> kActivationTags{
    {{"nhwc", tag::nhwc}, {"nChw8c", tag::nChw8c}, {"nChw16c", tag::nChw16c}, {"nChw4c", tag::nChw4c}}};

const std::map<std::string, tag, std::less<>>& tags_by_name() {
  static const auto tags = [] {
    std::map<std::string, tag, std::less<>> made;
    for (int t = dnnl_a; t < dnnl_format_tag_last; ++t) {
      const auto each = static_cast<dnnl_format_tag_t>(t);
      made.emplace(dnnl_fmt_tag2str(each), static_cast<tag>(each));
    }
    for (const auto& [name, each] : kActivationTags) made.emplace(name, each);
    return made;
  }();
  return tags;
}

std::string shown(const TensorSpec& spec) { return arbalest::shown(spec.shape) + " in layout '" + spec.layout + "'"; }

memory::dims dimensions(const TensorSpec& spec, int64_t groups) {
  memory::dims dims(spec.shape.begin(), spec.shape.end());
  if (groups == 1) return dims;
  if (dims.size() != 4 || groups < 1 || dims[0] % groups != 0) {
    throw Error("INVALID_PROGRAM", "layout: received " + shown(spec) + "; " + std::to_string(groups) +
                                       " groups need weights of four dimensions whose first is a multiple of them");
  }
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return dims;
}

tag plain_tag(const TensorSpec& spec, size_t rank) {
  if (rank == 0 || rank > kPlainTags.size()) {
    throw Error("INVALID_PROGRAM", "shape: received " + shown(spec) + "; a tensor here has 1 to 6 dimensions");
  }
  return kPlainTags[rank - 1];
}

}  // namespace

memory::data_type data_type_of(Type type) {
  switch (type) {
    case Type::f32: return memory::data_type::f32;
    case Type::bf16: return memory::data_type::bf16;
    case Type::i32: return memory::data_type::s32;
    case Type::u8: return memory::data_type::u8;
    case Type::f64: break;
  }
  throw Error("UNSUPPORTED_PRECISION", "precision: received f64; the cpu backend computes in f32 and bf16, use the reference backend");
}

int64_t groups_of(std::string_view layout) {
  const size_t slash = layout.find('/');
  if (slash == std::string_view::npos) return 1;
  int64_t groups = 0;
  std::from_chars(layout.data() + slash + 1, layout.data() + layout.size(), groups);
  return groups;
}

memory::desc descriptor_of(const TensorSpec& spec, int64_t groups) {
  const memory::dims dims = dimensions(spec, groups);
  const auto type = data_type_of(spec.type);
  if (spec.layout == kAny) return {dims, type, tag::any};
  if (spec.layout == kPlain) return {dims, type, plain_tag(spec, dims.size())};

  const std::string_view name = std::string_view(spec.layout).substr(0, spec.layout.find('/'));
  const auto found = tags_by_name().find(name);
  if (found != tags_by_name().end() && groups_of(spec.layout) == groups) {
    const memory::desc made(dims, type, found->second, true);
    if (onednn::is_made(made)) return made;
  }
  throw Error("INVALID_PROGRAM", "layout: received " + shown(spec) + "; the cpu backend has no such layout for this shape");
}

std::string layout_of(const memory::desc& descriptor, const TensorSpec& spec, int64_t groups) {
  const memory::dims dims = dimensions(spec, groups);
  const auto type = data_type_of(spec.type);
  const auto is = [&](tag each) {
    const memory::desc named(dims, type, each, true);
    return onednn::is_made(named) && named == descriptor && onednn::strides_equal(named, descriptor);
  };
  if (is(plain_tag(spec, dims.size()))) return std::string(kPlain);
  for (const auto& [name, each] : kActivationTags) {
    if (groups == 1 && is(each)) return std::string(name);
  }
  for (const auto& [name, each] : tags_by_name()) {
    if (is(each)) return groups > 1 ? name + "/" + std::to_string(groups) : name;
  }
  return std::string(kAny);
}

bool is_plain_and_nhwc(const Shape& shape) { return shape.size() == 4 && (shape[1] == 1 || (shape[2] == 1 && shape[3] == 1)); }

size_t bytes_of(const TensorSpec& spec) {
  if (spec.layout == kPlain) return static_cast<size_t>(elements_of(spec.shape)) * size_of(spec.type);
  return descriptor_of(spec, groups_of(spec.layout)).get_size();
}

}  // namespace arbalest
