// oneDNN's names of blocked layouts, AB8b64a2b: after the order of the blocks, the extents in a block from the outermost to the innermost.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace arbalest::kernels {

// Takes the next extent from the name if it is one of this axis; else 0.
inline int64_t take_extent(std::string_view& name, char axis) {
  uint32_t extent = 0;
  const char* const all = name.data() + name.size();
  const char* const end = std::from_chars(name.data(), all, extent).ptr;
  if (end == all || *end != axis) return 0;
  name.remove_prefix(static_cast<size_t>(end - name.data()) + 1);
  return extent;
}

}  // namespace arbalest::kernels
