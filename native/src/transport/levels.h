// The levels of a group, from their description; and how fast one is.
#pragma once

#include <memory>
#include <vector>

#include "sync/rule.h"
#include "transport/level.h"

namespace arbalest {

// Throws INVALID_OPTION where the backend has not so many devices.
void check_devices(Backend& backend, int devices);

// Throws INVALID_OPTION for devices and levels that make no sum over all learners, or that the rule has no use for.
void check_levels(Backend& backend, const GroupSpec& spec);

std::vector<std::unique_ptr<Level>> make_levels(Backend& backend, const GroupSpec& spec);

// Bytes a second that go into a level which takes so many parts of `bytes`, each of a device: the best of a few passages.
double measure_level(Backend& backend, const LevelSpec& level, int parts, size_t bytes);

}  // namespace arbalest
