#include "cuda/passes/post.h"

#include "cuda/launch.h"

namespace arbalest::cuda {

void queue_post(const Post& post, DeviceStream& stream) { each(stream, 1, post); }

}  // namespace arbalest::cuda
