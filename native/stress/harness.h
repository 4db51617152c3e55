// What every harness is: trials, one after another, until its time is over. A trial that is not right, or takes longer than any could, ends
// the process with its seed; a race is ThreadSanitizer's to report, which ends it with the exit code 66.
//
// stress-NAME [--seconds N] [--seed N]: with a seed that trial alone.
#pragma once

#include <string>

#include "chance.h"
#include "device/backend.h"

namespace arbalest::stress {

// Of each harness.
void run(Backend& backend, Chance& chance);

// Ends the process unless it holds.
void expect(bool holds, const std::string& what);

}  // namespace arbalest::stress
