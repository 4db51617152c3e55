// Which vectors of a job lie in the second tier: none, the states of its optimisers, or all that are laid out like the parameters.
#pragma once

#include <memory>

#include "device/staged_vectors.h"

namespace arbalest {

struct MovedVectors {
  std::shared_ptr<StagedVectors> tier;  // null for none
  bool all = false;

  // Where states of optimisers lie on this device, and whose passes take them.
  Backend& states(Backend& device) const { return tier ? tier->on(device) : device; }
  // Where all other vectors lie.
  Backend& vectors(Backend& device) const { return all ? states(device) : device; }
};

}  // namespace arbalest
