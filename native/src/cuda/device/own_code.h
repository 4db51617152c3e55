#pragma once

namespace arbalest::cuda {

// The architecture for which the kernels that the calling thread's device runs were compiled, such as 90. Where the library has no machine
// code for the device, the driver makes it of PTX for an earlier one: such kernels leave out what only later ones have. Throws
// BACKEND_UNAVAILABLE if there is neither.
int architecture_of_own_code();

}  // namespace arbalest::cuda
