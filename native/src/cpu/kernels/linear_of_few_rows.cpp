// Linear layers of few rows. Most of what such a layer reads are weights, and most of what it writes are their gradients. In f32 the
// forward pass is dot products with rows of x, which read each row of weights as it lies: for few rows packing costs more than it saves.
#include <algorithm>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/product.h"

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

// The product of gy, transposed, and x, of which a copy has whole registers a row. In bf16 both are in pairs of rows.
template <class T> class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : e_(spec.inputs[0].shape(), spec.outputs[0].shape()),
        x_(input<T>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        scratch_(spec, items(e_)) {}

  struct Extents {
    int64_t rows, in, out;
    int64_t depth, row;  // items of a column of x or of gy, and from one row of x to the next

    Extents(const Shape& x, const Shape& w)
        : rows(elements_of(x) / w[1]), in(w[1]), out(w[0]), depth((rows + kRowsOfItem - 1) / kRowsOfItem), row(in_registers(in)) {}
  };

  static size_t items(const Extents& e) { return static_cast<size_t>(e.depth * (e.row + (kPairs ? e.out : 0))); }

  void run(const StepContext&) override {
    Item* const x = &scratch_[0];
    copy(x_, e_.in, x, e_.row);
    if (gb_) add_biases();
    if constexpr (kPairs) {
      Item* const gy = x + e_.depth * e_.row;
      copy(gy_, e_.out, gy, e_.out);
      multiply(gy, x);
    } else {
      multiply(gy_, x);
    }
  }

 private:
  using Item = ItemOf<T>;
  static constexpr bool kPairs = std::is_same_v<Item, Pair>;
  static constexpr int64_t kRowsOfItem = kPairs ? 2 : 1;

  // Rows of items. A row that has no other one is paired with zeros.
  void copy(const T* from, int64_t width, Item* to, int64_t row) const {
    for (int64_t n = 0; n < e_.rows; n += kRowsOfItem, from += kRowsOfItem * width, to += row) {
      for_each_register(0, width, [&]<bool Partial>(int64_t at, int lanes) {
        const Floats first = load<Partial>(from + at, lanes);
        if constexpr (kPairs)
          store<Partial>(to + at, paired_again(first, n + 1 < e_.rows ? load<Partial>(from + width + at, lanes) : Floats{}), lanes);
        else
          store<Partial>(to + at, first, lanes);
      });
    }
  }

  void multiply(const Item* gy, const Item* x) const {
    for_each((e_.out + kTileRows - 1) / kTileRows, e_.out * e_.in * e_.rows / kLanes, [&](int64_t block) {
      const int64_t first = block * kTileRows, rows = std::min<int64_t>(kTileRows, e_.out - first);
      const StridedOf<Item> from{gy + first, 1, e_.out};
      for (int64_t column = 0; column < e_.row; column += kTileVectors * kLanes) {
        const auto write = [&](int64_t i, int64_t v, Floats sums) {
          const int64_t at = column + v * kLanes;
          float* const to = gw_ + (first + i) * e_.in + at;
          at + kLanes <= e_.in ? store(to, sums) : store(to, sums, static_cast<int>(e_.in - at));
        };
        if (column + kTileVectors * kLanes <= e_.row)
          tile_of<kTileRows, kTileVectors>(rows, from, x + column, e_.row, {e_.depth}, write);
        else
          tile_of<kTileRows, 1>(rows, from, x + column, e_.row, {e_.depth}, write);
      }
    });
  }

  void add_biases() const {
    for_each_register(0, e_.out, [&]<bool Partial>(int64_t at, int lanes) {
      Floats sums{};
      for (int64_t n = 0; n < e_.rows; ++n) sums += load<Partial>(gy_ + n * e_.out + at, lanes);
      store<Partial>(gb_ + at, sums, lanes);
    });
  }

  const Extents e_;
  const T *x_, *gy_;                  // (N, F), (N, O)
  float *gw_, *gb_;                   // (O, F), (O) or null
  const PlannedItems<Item> scratch_;  // x, and in bf16 gy, in items
};

void check_forward(const Shapes& shapes) {
  const Shape &x = shapes.input(0), &w = shapes.input(1);
  if (x.back() != w[1]) shapes.refuse("shape of input x", shown(x), "give it rows as long as those of w, " + shown(w));
  Shape y(x.begin(), x.end() - 1);
  y.push_back(w[0]);
  shapes.output_is(0, y);
  if (shapes.has_input(2)) shapes.input_is(2, {w[0]});
}

void check_weights(const Shapes& shapes) {
  const Shape &x = shapes.input(0), &gy = shapes.input(1);
  if (!std::equal(x.begin(), x.end() - 1, gy.begin(), gy.end() - 1))
    shapes.refuse("shape of input gy", shown(gy), "give it as many rows as x has, " + shown(x));
  shapes.output_is(0, {gy.back(), x.back()});
  if (shapes.has_output(1)) shapes.output_is(1, {gy.back()});
}

// Of x; with 0 features there are no rows.
bool has_few_rows(const Shape& x) { return kLanes >= 8 && !x.empty() && x.back() > 0 && elements_of(x) / x.back() <= kMostRows; }

bool takes_forward(const LoweringRequest& request, const std::string&) {
  return request.precision == Type::f32 && has_few_rows(shape_at(request.inputs, 0)) && shape_at(request.inputs, 1).size() == 2;
}

bool takes_weights(const LoweringRequest& request, const std::string&) {
  const Shape x = shape_at(request.inputs, 0);
  return has_few_rows(x) && shape_at(request.inputs, 1).size() == x.size() && shape_at(request.outputs, 0).size() == 2;
}

size_t scratch_of_weights(const Shapes& shapes, const LoweringAnswer& answer) {
  const auto items = [&]<class T>() {
    using Made = BackwardWeights<T>;
    return Made::items({shapes.input(0), shapes.output(0)});
  };
  return (answer.inputs[0].type == Type::bf16 ? items.template operator()<bf16>() : items.template operator()<float>()) * sizeof(float);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "linear",
       .inputs = {{"x", canonical}, {"w", parameter}, {"b", parameter, true}},
       .outputs = {{"y", canonical}},
       .check = check_forward,
       .make = make_f32<Forward>,
       .takes = takes_forward},
      {.kind = "linearBackwardWeights",
       .inputs = {{"x", canonical}, {"gy", canonical}},
       .outputs = {{"gw", parameter}, {"gb", parameter, true}},
       .check = check_weights,
       .make = make_typed<BackwardWeights>,
       .scratch = scratch_of_weights,
       .takes = takes_weights},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
