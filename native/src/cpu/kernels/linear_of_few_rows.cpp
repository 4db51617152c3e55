// The forward pass of linear layers of few rows, as dot products of rows of x and of w. Each row of weights is read as it lies: for few
// rows packing costs more than it saves.
#include "cpu/kernels/linear_of_few_rows.h"

#include <algorithm>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/pairs.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/tiles.h"

namespace arbalest::kernels {
namespace {

// Dot products that are summed at once, of some rows of x by some of w: their totals fill a register.
constexpr int kOuts = 4, kRows = kLanes / kOuts;

template <class T> class Forward final : public Kernel {
 public:
  explicit Forward(const OperatorSpec& spec)
      : rows_(elements_of(spec.inputs[0].shape()) / spec.inputs[0].shape().back()),
        in_(spec.inputs[1].shape()[1]),
        out_(spec.inputs[1].shape()[0]),
        x_(input<T>(spec, 0)),
        w_(input<float>(spec, 1)),
        b_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)),
        relu_(spec.attributes.number("relu", 0) != 0) {}

  void run(const StepContext&) override {
    for_each((out_ + kOuts - 1) / kOuts, rows_ * in_ * out_ / kLanes, [&](int64_t block) {
      const int64_t first = block * kOuts;
      piece_of<kOuts>(std::min<int64_t>(kOuts, out_ - first), first, [&]<int Outs>(int64_t out) { multiply_all<Outs>(out); });
    });
  }

 private:
  using Register = RegisterOf<ItemOf<T>>;
  // Features of a register.
  static constexpr int kStep = kLanes * static_cast<int>(sizeof(float) / sizeof(T));

  template <bool Partial> static Floats of_x(const float* from, int width) { return load<Partial>(from, width); }
  template <bool Partial> static Words of_x(const bf16* from, int width) {
    return Partial ? load_neighbours(from, width) : load_neighbours(from);
  }

  template <bool Partial> static Register of_w(const float* from, int width) {
    if constexpr (kStep == kLanes)
      return load<Partial>(from, width);
    else
      return as_neighbours(load<Partial>(from, std::min(width, kLanes)), load<Partial>(from + kLanes, std::max(width - kLanes, 0)));
  }

  // Rows of weights that are fetched while others are multiplied.
  struct Ahead {
    const float* first;
    int64_t rows;
  };

  template <int Outs> void multiply_all(int64_t out) const {
    Floats biases{};
    for (int lane = 0; b_ && lane < kLanes; ++lane) biases[lane] = lane % kOuts < Outs ? b_[out + lane % kOuts] : 0;
    // The weights of the next block, a share of them beside each block of rows.
    const int64_t blocks = (rows_ + kRows - 1) / kRows, share = (kOuts + blocks - 1) / blocks, next = out + kOuts;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t row = block * kRows, fetched = next + block * share;
      const Ahead ahead{w_ + fetched * in_, std::clamp<int64_t>(std::min(out_, next + kOuts) - fetched, 0, share)};
      piece_of<kRows>(std::min<int64_t>(kRows, rows_ - row), row,
                      [&]<int Rows>(int64_t from) { multiply<Rows, Outs>(from, out, biases, ahead); });
    }
  }

  template <int Rows, int Outs> [[gnu::noinline]] void multiply(int64_t row, int64_t out, Floats biases, Ahead ahead) const {
    const T* x = x_ + row * in_;
    const float* w = w_ + out * in_;
    Floats sums[kLanes] = {};
    const auto add = [&]<bool Partial>(int64_t at, int width) {
      for (int64_t j = 0; j < ahead.rows; ++j) {
#pragma GCC unroll 2
        for (int line = 0; line < kStep; line += kLanes) __builtin_prefetch(ahead.first + j * in_ + at + line);
      }
      Register values[Rows];
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) values[i] = in_register(of_x<Partial>(x + i * in_ + at, width));
#pragma GCC unroll 4
      for (int j = 0; j < Outs; ++j) {
        const Register weights = in_register(of_w<Partial>(w + j * in_ + at, width));
#pragma GCC unroll 4
        for (int i = 0; i < Rows; ++i) sums[i * kOuts + j] = multiply_add(sums[i * kOuts + j], values[i], weights);
      }
    };
    int64_t at = 0;
    for (; at + kStep <= in_; at += kStep) add.template operator()<false>(at, kStep);
    if (at < in_) add.template operator()<true>(at, static_cast<int>(in_ - at));
    Floats y = totals_of_each(sums) + biases;
    if (relu_) y = rectified(y);
    T lanes[kLanes];
    store(lanes, y);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) std::memcpy(y_ + (row + i) * out_ + out, lanes + i * kOuts, Outs * sizeof(T));
  }

  const int64_t rows_, in_, out_;
  const T* x_;           // (N, F)
  const float *w_, *b_;  // (O, F), (O)
  T* y_;                 // (N, O)
  const bool relu_;
};

void check_forward(const Shapes& shapes) {
  const Shape &x = shapes.input(0), &w = shapes.input(1);
  if (x.back() != w[1]) shapes.refuse("shape of input x", shown(x), "give it rows as long as those of w, " + shown(w));
  Shape y(x.begin(), x.end() - 1);
  y.push_back(w[0]);
  shapes.output_is(0, y);
  if (shapes.has_input(2)) shapes.input_is(2, {w[0]});
}

bool takes_forward(const LoweringRequest& request, const std::string&) {
  return has_few_rows(request, shape_at(request.inputs, 0)) && shape_at(request.inputs, 1).size() == 2;
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "linear",
       .inputs = {{"x", canonical}, {"w", parameter}, {"b", parameter, true}},
       .outputs = {{"y", canonical}},
       .check = check_forward,
       .make = make_typed<Forward>,
       .takes = takes_forward},
  };
}

const Registered kRegistered{operators()};

}  // namespace

bool has_few_rows(const LoweringRequest& request, const Shape& x) {
  // Of more rows oneDNN's products are as fast: there packing pays.
  constexpr int64_t kMostRows = 32;
  if (kLanes < 8 || x.empty() || x.back() < 1 || elements_of(x) / x.back() > kMostRows) return false;
  // With tiles a product in bf16 costs so little that a packed copy of the weights is worth its memory.
  return request.precision == Type::f32 || (request.precision == Type::bf16 && !has_tiles());
}

}  // namespace arbalest::kernels
