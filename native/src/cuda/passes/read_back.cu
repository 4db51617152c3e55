#include "cuda/passes/read_back.h"

#include "cuda/launch.h"

namespace arbalest::cuda {

void queue_read_back(const ReadBack& kernel, DeviceStream& stream) { each(stream, 1, kernel); }

}  // namespace arbalest::cuda
