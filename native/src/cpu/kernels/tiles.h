// The tiles of AMX, by which some processors multiply matrices in bfloat16.
#pragma once

namespace arbalest::kernels {

// Whether the processor has them, and Linux gave them to this process. False where this library is not compiled for such processors.
bool has_tiles();

}  // namespace arbalest::kernels
