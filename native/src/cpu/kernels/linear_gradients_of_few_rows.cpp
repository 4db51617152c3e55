// The gradients of linear layers of few rows. Most of what they read and write are weights and their gradients, of which no copy is made.
#include <algorithm>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/linear_of_few_rows.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/product.h"

namespace arbalest::kernels {
namespace {

// In bf16: the product of gy and of pairs of rows of w, which are made as they are multiplied, for up to 16 rows of gy at once.
class BackwardData final : public Kernel {
 public:
  explicit BackwardData(const OperatorSpec& spec)
      : rows_(elements_of(spec.inputs[0].shape()) / spec.inputs[0].shape().back()),
        in_(spec.inputs[1].shape()[1]),
        out_(spec.inputs[1].shape()[0]),
        gy_(input<bf16>(spec, 0)),
        w_(input<float>(spec, 1)),
        gx_(output<bf16>(spec, 0)),
        pairs_(spec, items(rows_, out_)) {}

  static size_t items(int64_t rows, int64_t out) { return static_cast<size_t>(rows * pairs_of(out)); }

  void run(const StepContext&) override {
    for (int64_t n = 0; n < rows_; ++n) {
      const bf16* row = gy_ + n * out_;
      for (int64_t o = 0; o < out_; o += 2)
        pairs_[static_cast<size_t>(o / 2 * rows_ + n)] = {row[o].bits | (o + 1 < out_ ? uint32_t{row[o + 1].bits} << 16 : 0)};
    }
    for_each((in_ + kLanes - 1) / kLanes, rows_ * in_ * out_ / kLanes, [&](int64_t column) {
      const int64_t at = column * kLanes;
      in_pieces<kColumnRows>(rows_, [&]<int Rows>(int64_t row) {
        at + kLanes <= in_ ? multiply<Rows, false>(row, at, kLanes) : multiply<Rows, true>(row, at, static_cast<int>(in_ - at));
      });
    });
  }

 private:
  static constexpr int kColumnRows = 16;
  // Rows of w that are fetched ahead: what follows in a column lies far apart.
  static constexpr int64_t kAhead = 16;

  static int64_t pairs_of(int64_t out) { return items_for<Pair>(out); }

  template <int Rows, bool Partial> [[gnu::noinline]] void multiply(int64_t row, int64_t column, int width) const {
    const Pair* gy = &pairs_[0] + row;
    const float* w = w_ + column;
    Floats sums[Rows] = {};
    const auto add = [&](Words weights) [[gnu::always_inline]] {
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) sums[i] = multiply_add(sums[i], in_register(all(gy[i])), weights);
      gy += rows_;
    };
    for (int64_t o = 0; o + 1 < out_; o += 2, w += 2 * in_) {
      __builtin_prefetch(w + kAhead * in_);
      __builtin_prefetch(w + (kAhead + 1) * in_);
      add(in_register(paired(load<Partial>(w, width), load<Partial>(w + in_, width))));
    }
    if (out_ % 2 == 1) add(paired(load<Partial>(w, width), Floats{}));
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) store<Partial>(gx_ + (row + i) * in_ + column, sums[i], width);
  }

  const int64_t rows_, in_, out_;
  const bf16* gy_;                  // (N, O)
  const float* w_;                  // (O, F)
  bf16* gx_;                        // (N, F)
  const PlannedItems<Pair> pairs_;  // (O, N), outputs in pairs
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
        : rows(elements_of(x) / w[1]), in(w[1]), out(w[0]), depth(items_for<Item>(rows)), row(in_registers(in)) {}
  };

  static size_t items(const Extents& e) { return static_cast<size_t>(e.depth * (e.row + (kPaired<Item> ? e.out : 0))); }

  void run(const StepContext&) override {
    Item* const x = &scratch_[0];
    copy(x_, e_.in, x, e_.row);
    if (gb_) add_biases();
    if constexpr (kPaired<Item>) {
      Item* const gy = x + e_.depth * e_.row;
      copy(gy_, e_.out, gy, e_.out);
      multiply(gy, x);
    } else {
      multiply(gy_, x);
    }
  }

 private:
  using Item = ItemOf<T>;

  // Rows of items. A row that has no other one is paired with zeros.
  void copy(const T* from, int64_t width, Item* to, int64_t row) const {
    for (int64_t n = 0; n < e_.rows; n += kValues<Item>, from += kValues<Item> * width, to += row) {
      for_each_register(0, width, [&]<bool Partial>(int64_t at, int lanes) {
        const Floats first = load<Partial>(from + at, lanes);
        if constexpr (kPaired<Item>)
          store<Partial>(to + at, paired_exactly(first, n + 1 < e_.rows ? load<Partial>(from + width + at, lanes) : Floats{}), lanes);
        else
          store<Partial>(to + at, first, lanes);
      });
    }
  }

  void multiply(const Item* gy, const Item* x) const {
    for_each((e_.out + kTileRows - 1) / kTileRows, e_.out * e_.in * e_.rows / kLanes, [&](int64_t block) {
      const int64_t first = block * kTileRows, rows = std::min<int64_t>(kTileRows, e_.out - first);
      const StridedOf<Item> from{gy + first, 1, e_.out};
      product(from, x, e_.row, rows, e_.row, e_.depth, [&](int64_t i, int64_t at, Floats sums) {
        float* const to = gw_ + (first + i) * e_.in + at;
        at + kLanes <= e_.in ? store(to, sums) : store(to, sums, static_cast<int>(e_.in - at));
      });
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

void check_weights(const Shapes& shapes) {
  const Shape &x = shapes.input(0), &gy = shapes.input(1);
  if (!std::equal(x.begin(), x.end() - 1, gy.begin(), gy.end() - 1))
    shapes.refuse("shape of input gy", shown(gy), "give it as many rows as x has, " + shown(x));
  shapes.output_is(0, {gy.back(), x.back()});
  if (shapes.has_output(1)) shapes.output_is(1, {gy.back()});
}

void check_data(const Shapes& shapes) {
  const Shape &gy = shapes.input(0), &w = shapes.input(1);
  if (gy.back() != w[0]) shapes.refuse("shape of input gy", shown(gy), "give it rows as long as w has, " + shown(w));
  Shape x(gy.begin(), gy.end() - 1);
  x.push_back(w[1]);
  shapes.output_is(0, x);
}

// In f32 oneDNN's reads the weights as they lie, too.
bool takes_data(const LoweringRequest& request, const std::string&) {
  return request.precision == Type::bf16 && has_few_rows(request, shape_at(request.inputs, 0)) && shape_at(request.inputs, 1).size() == 2;
}

bool takes_weights(const LoweringRequest& request, const std::string&) {
  const Shape x = shape_at(request.inputs, 0);
  return has_few_rows(request, x) && shape_at(request.inputs, 1).size() == x.size() && shape_at(request.outputs, 0).size() == 2;
}

size_t scratch_of_data(const Shapes& shapes, const LoweringAnswer&) {
  const Shape& gy = shapes.input(0);
  return BackwardData::items(elements_of(gy) / gy.back(), gy.back()) * sizeof(Pair);
}

size_t scratch_of_weights(const Shapes& shapes, const LoweringAnswer& answer) {
  const auto items = [&]<class T>() { return BackwardWeights<T>::items({shapes.input(0), shapes.output(0)}); };
  return for_type(answer.inputs[0].type, items) * sizeof(float);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "linearBackwardData",
       .inputs = {{"gy", canonical}, {"w", parameter}},
       .outputs = {{"gx", canonical}},
       .check = check_data,
       .make = make_only<BackwardData>,
       .scratch = scratch_of_data,
       .takes = takes_data},
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
