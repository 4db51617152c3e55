// The stand-in's collective: streams and events in a fixed order. As with NCCL, a sum needs all ranks; if one of them fails, the others
// wait for it until the collective is given up. The vectors of other processes come by way of their peers, and are added up in the order of
// ranks, so that the sums have the same bits as those of as many devices of one process.
//
// ARBALEST_CUDA_HOST_FAULT=RANK:SUM makes a rank of the collectives that are made from then on fail in its sum of that number, from 0 on.
// RANK:SUM:launch makes the call fail when the ranks before it have been queued, and RANK:SUM:device the rank's device before it brings its
// part, which the collective does not notice.
#pragma once

#include <memory>

#include "device/collective.h"

namespace arbalest::cuda {

std::unique_ptr<Collective> host_collective(int devices, std::shared_ptr<Peers> peers);

}  // namespace arbalest::cuda
