// The abilities of this processor on which the CPU backend's choices depend.
#pragma once

#include <string_view>
#include <vector>

namespace arbalest {

// The instruction set that oneDNN uses: the processor's, or a smaller one if its environment variable says so.
std::string_view onednn_instruction_set();

// bfloat16 multiply-accumulate in hardware (AVX512_BF16 or AMX). Emulated, bfloat16 is slower than f32.
bool computes_bf16();

// Instruction sets of the kernel libraries that this processor runs, best first.
std::vector<std::string_view> kernel_instruction_sets();

// The calling thread's arithmetic takes numbers below the normal range for zero from now on. On many processors arithmetic with such
// numbers takes a hundred times as long, and the velocity of a dead unit is full of them.
void flush_denormals();

}  // namespace arbalest
