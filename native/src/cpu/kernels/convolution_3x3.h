// Convolutions of 3x3 with stride 1 and padding 1 where channels fill blocks, and a register of filters is computed at once. A processor
// loads about as many values a cycle as it multiplies and adds, so that what is loaded for one multiply-add alone makes loads the limit:
// in all of these kernels each value that is loaded serves several.
#pragma once

#include <string>

#include "cpu/kernels/blocked_convolution.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels::convolution_3x3 {

inline constexpr int kSide = 3, kTaps = kSide * kSide;

// The weights between one block of channels and one of filters, tap by tap.
inline constexpr int64_t kWeightsBlock = kTaps * kTapSize;

// Backward is the gradient of the data: there x is the gradient of y, and y is that of x.
enum class Direction { forward, backward };

// What becomes of the sums of a block of filters, of which there are `count`. `biases` are (O) or null.
class Finish {
 public:
  Finish(const float* biases, int64_t block, int64_t count, bool relu)
      : Finish(biases ? load(biases + block * kLanes, static_cast<int>(count)) : Floats{}, relu) {}
  Finish(Floats bias, bool relu) : bias_(bias), relu_(relu) {}

  Floats operator()(Floats sum) const { return relu_ ? rectified(sum + bias_) : sum + bias_; }

 private:
  const Floats bias_;
  const bool relu_;
};

// Whether it is such a convolution of x (N, I, H, W) by w (O, I, 3, 3) in any type and layout.
bool has_shapes(const LoweringRequest& request, const Shape& x, const Shape& w);

// Whether it is the gradient of the weights of such a convolution in bfloat16.
bool has_bfloat16_weights(const LoweringRequest& request);

// (N, O, H, W)
inline Shape result_of(const Shape& x, const Shape& w) { return {x[0], w[0], x[2], x[3]}; }

// What an operator of a file has for itself.
struct Own : OwnOperator {
  const char* layout = kActivations;  // null where there are several
};

// The rows of kernels in the operator table. Forward, x, w, b -> y; the gradient of the data, gy, w -> gx; that of the weights,
// x, gy -> gw, gb.
Operator forward_operator(const Own& own);
Operator backward_data_operator(const Own& own);
Operator backward_weights_operator(const Own& own);

// Whether the `blocks` blocks of gw are stored past the caches: where they are many and aligned, and each of their sums is written once.
bool stores_past_caches(const float* gw, int64_t blocks, bool written_once);

inline void store_past_caches(float* to, Floats value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
#elif defined(__AVX2__)
  _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
#else
  store(to, value);
#endif
}

// Makes these stores visible to other threads: before a thread tells them that it is done.
inline void end_stores_past_caches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace arbalest::kernels::convolution_3x3
