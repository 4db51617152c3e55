// Products of 16 x 16 tiles of bfloat16 in shared memory, summed in float in the registers of a warp's 32 lanes. On a GPU its tensor cores
// compute them (ldmatrix, mma.m16n8k16); in the stand-in each lane computes the elements that it would hold there.
#pragma once

#include "cuda/number.h"

namespace arbalest::cuda {

inline constexpr int kTile = 16;

// A lane's 8 elements of a 16 x 16 tile.
struct TileSum {
  float at[8];
  EVERYWHERE static int row(int lane, int i) { return lane / 4 + i / 2 % 2 * 8; }
  EVERYWHERE static int column(int lane, int i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }
};

// Before products of tiles that follow branches which not all lanes take: the instructions need the whole warp at once.
EVERYWHERE inline void converge_warp() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#endif
}

enum class Operand { left, right };
// A line is 16 neighbouring elements in shared memory, from a multiple of 16 bytes on: a row of the operand, or a column of it.
enum class Lines { rows, columns };

// The 16 lines of an operand, wherever each lies: `line(i)` is the address of the i-th.
template <Operand kOperand, Lines kLines> class TileLines {
 public:
  struct Fragment;

  template <class Line> EVERYWHERE TileLines(const Line& line, int lane) {
#if defined(__CUDA_ARCH__)
    // The addresses of the four 8 x 8 matrices that ldmatrix reads, one line of one of them from each lane.
    line_ = kLines == Lines::rows ? line(lane % 16) + lane / 16 * 8 : line(lane / 16 * 8 + lane % 8) + lane / 8 % 2 * 8;
#else
    (void)lane;
    for (int i = 0; i < kTile; ++i) line_[i] = line(i);
#endif
  }

  // The operand whose lines lie `offset` elements further on.
  EVERYWHERE Fragment at(int offset) const {
    Fragment fragment;
#if defined(__CUDA_ARCH__)
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(line_ + offset));
    constexpr bool kTransposed = (kOperand == Operand::left) == (kLines == Lines::columns);
    if constexpr (kTransposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(fragment.word[0]), "=r"(fragment.word[1]), "=r"(fragment.word[2]), "=r"(fragment.word[3])
                   : "r"(address)
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(fragment.word[0]), "=r"(fragment.word[1]), "=r"(fragment.word[2]), "=r"(fragment.word[3])
                   : "r"(address)
                   : "memory");
#else
    for (int i = 0; i < kTile; ++i) {
      fragment.line[i] = line_[i] + offset;
      expect_aligned(fragment.line[i], 16);
    }
#endif
    return fragment;
  }

  struct Fragment {
#if defined(__CUDA_ARCH__)
    uint32_t word[4];
#else
    const Bf16* line[kTile];
    // Of the operand's rows and columns.
    EVERYWHERE float element(int row, int column) const { return kLines == Lines::rows ? line[row][column] : line[column][row]; }
#endif
  };

 private:
#if defined(__CUDA_ARCH__)
  const Bf16* line_;
#else
  const Bf16* line_[kTile];
#endif
};

#if defined(__CUDA_ARCH__)
// Adds the product of a lane's parts of two operands to its part of a sum.
__device__ inline void multiply_tiles(float (&sum)[8], const uint32_t (&left)[4], const uint32_t (&right)[4]) {
  WHOLLY_UNROLLED
  for (int half = 0; half < 2; ++half) {
    float* const at = sum + half * 4;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(at[0]), "+f"(at[1]), "+f"(at[2]), "+f"(at[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[half * 2]), "r"(right[half * 2 + 1]));
  }
}
#endif

template <class Left, class Right> EVERYWHERE void add_product(TileSum& sum, const Left& left, const Right& right, int lane) {
#if defined(__CUDA_ARCH__)
  multiply_tiles(sum.at, left.word, right.word);
#else
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < kTile; ++k) sum.at[i] += left.element(TileSum::row(lane, i), k) * right.element(k, TileSum::column(lane, i));
#endif
}

// Copies 16 bytes from the device's memory to shared memory, or fills them with zeros, while the thread goes on; `end_of_copies` closes a
// group of them.
EVERYWHERE inline void begin_copy(Bf16* to, const Bf16* from, bool present) {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "l"(from),
               "r"(present ? 16 : 0)
               : "memory");
#else
  write(to, 0, present ? read<Bf16, 8>(from, 0) : Pack<Bf16, 8>{});
#endif
}
EVERYWHERE inline void end_of_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for the thread's own groups but for the last kLeft.
template <int kLeft> EVERYWHERE void await_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

}  // namespace arbalest::cuda
