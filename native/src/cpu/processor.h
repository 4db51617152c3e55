// What this processor can do, as far as the CPU backend's choices depend on it.
#pragma once

#include <string_view>
#include <vector>

namespace arbalest {

// The instruction set that oneDNN goes by: the processor's, or less where its own environment variable says so.
std::string_view onednn_instruction_set();

// bfloat16 multiply-accumulate in hardware (AVX512_BF16 or AMX). Emulated, bfloat16 is slower than f32.
bool computes_bf16();

// Instruction sets of the kernel libraries that this processor runs, best first.
std::vector<std::string_view> kernel_instruction_sets();

// The calling thread's results below the normal range, and such operands, become zero from here on: on many processors arithmetic with
// them takes a hundred times as long, and a dying unit's velocity is full of them.
void flush_denormals();

}  // namespace arbalest
