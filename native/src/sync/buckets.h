// The parameter vector in buckets, each a range of its elements: what learners hand over at once while backward still works on the others.
#pragma once

#include <span>
#include <vector>

#include "core/program.h"
#include "sync/group.h"

namespace arbalest {

// From the last parameter to the first, which is about the order in which backward finishes their gradients.
std::vector<Bucket> buckets_of(const ParameterLayout& layout);

// So many elements in ranges of one length, but for the last.
std::vector<Bucket> buckets_of(size_t elements, size_t length);

// For each bucket the operator of `backward` after which its gradient is whole; -1 where none writes into it.
std::vector<int> last_writers(const Program& program, std::span<const Bucket> buckets);

}  // namespace arbalest
