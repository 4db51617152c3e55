#include "core/buckets.h"

#include <algorithm>
#include <utility>

namespace arbalest {
namespace {

// The fewest bytes of gradients in a part of backward: each part costs a launch, about 5 microseconds, in which 200 GB/s carry 1 MB.
constexpr size_t kLeastPartBytes = size_t{1} << 20;
constexpr size_t kMostParts = 8;

// With fewer buckets, one that is deferred is a large part of the vector.
constexpr size_t kLeastForNeed = 4;

// Calls take(bucket) for the buckets in which those of the values lie that are in this arena.
template <class Take>
void for_each_bucket(const Program& program, const std::vector<int>& ids, Arena arena, std::span<const Bucket> buckets, Take&& take) {
  const size_t size = size_of(program.parameters.type());
  for (int id : ids) {
    if (id < 0) continue;
    const PlacedValue& value = program.values[static_cast<size_t>(id)];
    if (value.arena != arena) continue;
    for (size_t b = 0; b < buckets.size(); ++b)
      if (value.offset < buckets[b].end * size && value.offset + value.bytes > buckets[b].begin * size) take(b);
  }
}

}  // namespace

std::vector<Bucket> buckets_of(const ParameterLayout& layout, const BucketSizes& sizes) {
  const size_t size = size_of(layout.type());
  std::vector<Bucket> buckets;
  size_t end = layout.bytes;
  for (auto parameter = layout.parameters.rbegin(); parameter != layout.parameters.rend(); ++parameter) {
    const bool last = std::next(parameter) == layout.parameters.rend();
    const size_t begin = last ? 0 : parameter->offset;
    if (end - begin < sizes.least && !last) continue;
    for (; end - begin > sizes.most; end -= sizes.most) buckets.push_back({(end - sizes.most) / size, end / size});
    buckets.push_back({begin / size, end / size});
    end = begin;
  }
  return buckets;
}

std::vector<Bucket> by_need(std::vector<Bucket> buckets) {
  if (buckets.size() < kLeastForNeed) return buckets;
  const size_t elements = buckets.front().end - buckets.back().begin;
  auto deferred = buckets.begin();
  for (size_t passed = 0; passed < elements / 4; ++deferred) passed += deferred->end - deferred->begin;
  std::reverse(buckets.begin(), deferred);
  std::rotate(buckets.begin(), deferred, buckets.end());
  return buckets;
}

std::vector<Bucket> level_buckets(size_t elements, Type type, const BucketSizes& sizes) {
  const size_t length = sizes.whole / size_of(type);
  std::vector<Bucket> buckets;
  for (size_t begin = 0; begin < elements; begin += length) buckets.push_back({begin, std::min(begin + length, elements)});
  return buckets;
}

std::vector<int> last_writers(const Program& program, std::span<const Bucket> buckets) {
  std::vector<int> last(buckets.size(), -1);
  const auto& operators = program.segments[static_cast<size_t>(Segment::backward)];
  for (size_t at = 0; at < operators.size(); ++at) {
    // What is stored is there once that has been waited for.
    const bool settles = operators[at].kind == "settle";
    for_each_bucket(program, settles ? operators[at].inputs : operators[at].outputs, Arena::gradients, buckets,
                    [&](size_t bucket) { last[bucket] = static_cast<int>(at); });
  }
  return last;
}

std::vector<size_t> ends_of_parts(std::span<const int> last, std::span<const Bucket> buckets, Type type, size_t operators) {
  std::vector<size_t> completed(operators);  // bytes, by operator
  size_t bytes = 0;
  for (size_t bucket = 0; bucket < last.size(); ++bucket) {
    if (last[bucket] < 0) continue;
    const size_t size = (buckets[bucket].end - buckets[bucket].begin) * size_of(type);
    completed[static_cast<size_t>(last[bucket])] += size;
    bytes += size;
  }
  const size_t share = std::max(kLeastPartBytes, bytes / kMostParts);
  std::vector<size_t> ends;
  size_t left = bytes, part = 0;
  for (size_t at = 0; at < operators; ++at) {
    part += completed[at];
    // What is too little for a part of its own belongs to the last one.
    const bool is_enough = part >= share && left - part >= share;
    if (!is_enough) continue;
    ends.push_back(at + 1);
    left -= std::exchange(part, 0);
  }
  ends.push_back(operators);
  return ends;
}

std::vector<int> first_readers(const Program& program, std::span<const Bucket> buckets) {
  std::vector<int> first(buckets.size(), -1);
  const auto& operators = program.segments[static_cast<size_t>(Segment::forward)];
  for (size_t at = operators.size(); at-- > 0;)
    for_each_bucket(program, operators[at].inputs, Arena::weights, buckets, [&](size_t bucket) { first[bucket] = static_cast<int>(at); });
  return first;
}

}  // namespace arbalest
