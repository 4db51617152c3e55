// The yardstick of profiles: what one thread sustains in multiply-adds when nothing waits for memory.
#pragma once

namespace arbalest::reference {

// Floating-point operations a second in float32, as this library was compiled, measured for about 100 ms.
double measure_peak();

}  // namespace arbalest::reference
