// The parameter vector in buckets, each a range of its elements. A bucket is summed as soon as backward has finished its gradient, while
// backward still works on the others.
#pragma once

#include <span>
#include <vector>

#include "core/program.h"

namespace arbalest {

// Elements [begin, end) of the parameter vector.
struct Bucket {
  size_t begin = 0, end = 0;
};

// In bytes. A smaller bucket costs more in handing it over than it gains in overlap; a larger one is finished too late.
struct BucketSizes {
  size_t least, most;
  size_t whole;  // of a vector that climbs levels as a whole
};
// A sum by threads costs little to begin.
inline constexpr BucketSizes kOfThreads{size_t{256} << 10, size_t{1} << 20, size_t{4} << 20};
// One on streams costs some launches and events on each device, 10 to 15 microseconds, in which NVLink carries 4 MB.
inline constexpr BucketSizes kOfStreams{size_t{1} << 20, size_t{16} << 20, size_t{16} << 20};

// From the last parameter to the first, which is about the order in which backward finishes their gradients.
std::vector<Bucket> buckets_of(const ParameterLayout& layout, const BucketSizes& sizes);

// The same in the order in which a slow link should carry them: the forward pass needs the last parameters last, so that their quarter of
// the bytes goes after all others, from the first to the last. While a link is as slow as the computation, FIFO order has it busy with that
// quarter when backward ends, and the first bucket, for which forward waits, is behind all others.
std::vector<Bucket> by_need(std::vector<Bucket> buckets);

// Of a vector that climbs levels as a whole: small enough that the levels work on several at once, large enough that handing one on costs
// little beside its bandwidth.
std::vector<Bucket> level_buckets(size_t elements, Type type, const BucketSizes& sizes);

// For each bucket the operator of `backward` after which its gradient is whole; -1 where none writes into it.
std::vector<int> last_writers(const Program& program, std::span<const Bucket> buckets);

// How `backward` is divided, so that the buckets that one part completes leave while the next part runs: the operator at which each part
// ends, exclusive. `last`: of last_writers. `operators`: of backward.
std::vector<size_t> ends_of_parts(std::span<const int> last, std::span<const Bucket> buckets, Type type, size_t operators);

// For each bucket of the weights the first operator of `forward` that reads from it; -1 where none does.
std::vector<int> first_readers(const Program& program, std::span<const Bucket> buckets);

}  // namespace arbalest
