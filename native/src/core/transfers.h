// The transfers of a Program between a device's memory and the second tier: `store` and `fetch` begin one, `settle` waits for it.
#pragma once

#include <optional>
#include <vector>

#include "core/program.h"

namespace arbalest {

// Values that are moved lie at multiples of this, and have room up to the next one: files are read and written in such units past the
// system's cache.
inline constexpr size_t kTransferUnit = 4096;
inline size_t whole_units(size_t bytes) { return (bytes + kTransferUnit - 1) / kTransferUnit * kTransferUnit; }

struct Transfer {
  int from = 0, to = 0;  // values
  bool operator==(const Transfer&) const = default;
};

// What this operator begins or settles; nothing for operators of other kinds.
std::optional<Transfer> transfer_of(const PlacedOperator& op);
// Whether one of the values is a parameter or its gradient, which lie in the second tier then.
bool moves_vector(const Program& program, const PlacedOperator& op);
bool moves_vectors(const Program& program);
// In the order in which they begin.
std::vector<Transfer> transfers_of(const Program& program);

// Throws INVALID_PROGRAM unless each transfer is between two values of one size in their tiers, begins once, and is settled by the end of
// the backward pass; and where another operator uses a value of the second tier. The ids of all operators have been checked.
void check_transfers(const Program& program);

}  // namespace arbalest
