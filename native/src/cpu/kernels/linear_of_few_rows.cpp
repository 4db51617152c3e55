// Linear layers of few rows in f32. Most of what such a layer reads are weights, and each weight serves as many multiply-adds as there are
// rows. For few rows packing costs more than it saves: dot products with rows of x read each row of weights as it lies.
#include <algorithm>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/pieces.h"

namespace arbalest::kernels {
namespace {

// Of more rows oneDNN's products are as fast: there packing pays.
constexpr int64_t kMostRows = 32;
// Dot products that are summed at once, of some rows of x by some of w: their totals fill a register.
constexpr int kOuts = 4, kRows = kLanes / kOuts;

class Forward final : public Kernel {
 public:
  explicit Forward(const OperatorSpec& spec)
      : rows_(elements_of(spec.inputs[0].shape()) / spec.inputs[0].shape().back()),
        in_(spec.inputs[1].shape()[1]),
        out_(spec.inputs[1].shape()[0]),
        x_(input<float>(spec, 0)),
        w_(input<float>(spec, 1)),
        b_(input<float>(spec, 2)),
        y_(output<float>(spec, 0)),
        relu_(spec.attributes.number("relu", 0) != 0) {}

  void run(const StepContext&) override {
    for_each((out_ + kOuts - 1) / kOuts, rows_ * in_ * out_ / kLanes, [&](int64_t block) {
      const int64_t first = block * kOuts;
      piece_of<kOuts>(std::min<int64_t>(kOuts, out_ - first), first, [&]<int Outs>(int64_t out) { multiply_all<Outs>(out); });
    });
  }

 private:
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
    const float *x = x_ + row * in_, *w = w_ + out * in_;
    Floats sums[kLanes] = {};
    const auto add = [&]<bool Partial>(int64_t at, int width) {
      for (int64_t j = 0; j < ahead.rows; ++j) __builtin_prefetch(ahead.first + j * in_ + at);
      Floats values[Rows];
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) values[i] = in_register(load<Partial>(x + i * in_ + at, width));
#pragma GCC unroll 4
      for (int j = 0; j < Outs; ++j) {
        const Floats weights = in_register(load<Partial>(w + j * in_ + at, width));
#pragma GCC unroll 4
        for (int i = 0; i < Rows; ++i) sums[i * kOuts + j] += values[i] * weights;
      }
    };
    int64_t at = 0;
    for (; at + kLanes <= in_; at += kLanes) add.template operator()<false>(at, kLanes);
    if (at < in_) add.template operator()<true>(at, static_cast<int>(in_ - at));
    Floats y = totals_of_each(sums) + biases;
    if (relu_) y = rectified(y);
    float lanes[kLanes];
    store(lanes, y);
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) std::memcpy(y_ + (row + i) * out_ + out, lanes + i * kOuts, Outs * sizeof(float));
  }

  const int64_t rows_, in_, out_;
  const float *x_, *w_, *b_;  // (N, F), (O, F), (O)
  float* y_;                  // (N, O)
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
  const Shape x = shape_at(request.inputs, 0), w = shape_at(request.inputs, 1);
  if (kLanes < 8 || request.precision != Type::f32 || x.empty() || x.back() < 1 || w.size() != 2) return false;
  return elements_of(x) / x.back() <= kMostRows;
}

std::vector<Operator> operators() {
  using enum Role;
  return {{.kind = "linear",
           .inputs = {{"x", canonical}, {"w", parameter}, {"b", parameter, true}},
           .outputs = {{"y", canonical}},
           .check = check_forward,
           .make = make_f32<Forward>,
           .takes = takes_forward}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
