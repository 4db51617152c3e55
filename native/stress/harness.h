// Every harness runs trials, one after another, until its time is over. A trial that is wrong, or takes far too long, ends the process and
// prints its seed. ThreadSanitizer reports races, and ends the process with the exit code 66.
//
// stress-NAME [--seconds N] [--seed N]: with a seed that trial alone.
#pragma once

#include <string>

#include "chance.h"
#include "device/backend.h"
#include "device/host_tier.h"

namespace arbalest::stress {

// Of each harness.
void run(Backend& backend, Chance& chance);

// Ends the process unless it holds.
void expect(bool holds, const std::string& what);

// Transfers at once, late or at any time.
inline TransferTiming timing_of(Chance& chance) {
  return {static_cast<TransferTiming::When>(chance.between(0, 2)), static_cast<uint64_t>(chance.between(0, 1 << 30))};
}

}  // namespace arbalest::stress
