// The threads among which a thread shares its work. None of them computes with denormal numbers, and those that are started for it take no
// signals.
#pragma once

#include <optional>

#include "core/blocked_signals.h"

namespace arbalest {

// From now on the calling thread shares its work among `threads` threads, of which it is one. Throws LIMIT_REACHED if the system or
// OMP_THREAD_LIMIT does not allow the others.
void use_team(int threads);

// While it lives, the calling thread computes with the threads that it has been given, or alone if it has been given none.
class OwnTeam {
 public:
  OwnTeam();

 private:
  std::optional<BlockedSignals> blocked_;
};

}  // namespace arbalest
