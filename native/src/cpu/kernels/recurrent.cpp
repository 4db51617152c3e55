// Long short-term memories (Hochreiter and Schmidhuber, 1997; Gers et al., 2000) and gated recurrent units (Cho et al., EMNLP 2014), whose
// product with the input a linear layer before has made.
#include "cpu/kernels/recurrent.h"

#include "cpu/kernels/sigmoid.h"

namespace arbalest::kernels {
namespace {

using namespace recurrent;

// What the products with the states gave for one sample, gate by gate, each from a register's beginning on, and the biases likewise.
struct OfState {
  const float *sums, *bias;
  int64_t block;

  Floats operator()(int64_t gate, int64_t feature) const {
    return load(sums + gate * block + feature) + load(bias + gate * block + feature);
  }
};

template <class Number> class Lstm {
 public:
  using T = Number;
  static constexpr int64_t kGates = 4;
  static constexpr size_t kPrevious = 3;  // the port

  Lstm(const OperatorSpec& spec, const Sequences& of)
      : F_(of.features), x_(input<T>(spec, 0)), gates_(output<T>(spec, 1)), cells_(output<float>(spec, 2)) {}

  // One position: `at` of all, the row `y` of its result. `memory` is the cell of the sample, a register's multiple long.
  void step(int64_t at, const OfState& of_state, const T*, float* memory, T* y) const {
    const T* const x = x_ + at * kGates * F_;
    T* const kept = gates_ ? gates_ + at * kKeptGates * F_ : nullptr;
    for_each_register(F_, [&]<bool Partial>(int64_t f, int width) {
      const auto gate = [&](int64_t number) { return load<Partial>(x + number * F_ + f, width) + of_state(number, f); };
      const Floats i = sigmoid<T>(gate(0)), forget = sigmoid<T>(gate(1)), g = hyperbolic_tangent<T>(gate(2)), o = sigmoid<T>(gate(3));
      const Floats cell = forget * load(memory + f) + i * g;
      store(memory + f, cell);
      store<Partial>(y + f, o * hyperbolic_tangent<T>(cell), width);
      if (cells_) store<Partial>(cells_ + at * F_ + f, cell, width);
      if (!kept) return;
      store<Partial>(kept + f, i, width);
      store<Partial>(kept + F_ + f, forget, width);
      store<Partial>(kept + 2 * F_ + f, g, width);
      store<Partial>(kept + 3 * F_ + f, o, width);
    });
  }

  void skip(int64_t at) const {
    if (cells_) std::fill_n(cells_ + at * F_, F_, 0.0f);
    if (gates_) std::fill_n(gates_ + at * kKeptGates * F_, kKeptGates * F_, T{});
  }

 private:
  const int64_t F_;
  const T* x_;    // (N, T, 4F)
  T* gates_;      // (N, T, 4F) or null: i, f, g, o; may be x
  float* cells_;  // (N, T, F) or null
};

template <class Number> class Gru {
 public:
  using T = Number;
  static constexpr int64_t kGates = 3;
  static constexpr size_t kPrevious = 2;

  Gru(const OperatorSpec& spec, const Sequences& of) : F_(of.features), x_(input<T>(spec, 0)), gates_(output<T>(spec, 1)) {}

  // `before` is the result of the position before, or null at the first.
  void step(int64_t at, const OfState& of_state, const T* before, float*, T* y) const {
    const T* const x = x_ + at * kGates * F_;
    T* const kept = gates_ ? gates_ + at * kKeptGates * F_ : nullptr;
    for_each_register(F_, [&]<bool Partial>(int64_t f, int width) {
      const auto given = [&](int64_t gate) { return load<Partial>(x + gate * F_ + f, width); };
      const Floats r = sigmoid<T>(given(0) + of_state(0, f)), z = sigmoid<T>(given(1) + of_state(1, f)), held = of_state(2, f);
      const Floats n = hyperbolic_tangent<T>(given(2) + r * held), state = before ? load<Partial>(before + f, width) : Floats{};
      store<Partial>(y + f, (1.0f - z) * n + z * state, width);
      if (!kept) return;
      store<Partial>(kept + f, r, width);
      store<Partial>(kept + F_ + f, z, width);
      store<Partial>(kept + 2 * F_ + f, n, width);
      store<Partial>(kept + 3 * F_ + f, held, width);
    });
  }

  void skip(int64_t at) const {
    if (gates_) std::fill_n(gates_ + at * kKeptGates * F_, kKeptGates * F_, T{});
  }

 private:
  const int64_t F_;
  const T* x_;  // (N, T, 3F)
  T* gates_;    // (N, T, 4F) or null: r, z, n, what the state gives to n
};

template <class Cell> class Forward final : public Kernel {
 public:
  explicit Forward(const OperatorSpec& spec)
      : of_(spec.outputs[0].shape(), spec.attributes, input<float>(spec, 3)),
        block_(in_registers(of_.features)),
        w_(input<float>(spec, 1)),
        b_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)),
        previous_(output<T>(spec, Cell::kPrevious)),
        cell_(spec, of_),
        memory_(spec, static_cast<size_t>(floats(of_))) {
    Pieces pieces(&memory_[0]);
    weights_ = pieces.take<Item>(depth() * columns());
    bias_ = pieces.take<float>(columns());
    states_ = pieces.take<Item>(of_.samples * state_row());
    sums_ = pieces.take<float>(of_.samples * columns());
    cells_ = pieces.take<float>(of_.samples * block_);
  }

  static int64_t floats(const Sequences& of) {
    const int64_t block = in_registers(of.features), columns = Cell::kGates * block, row = item_row<Item>(of.features);
    return columns * (items_for<Item>(of.features) + 1) + of.samples * (row + columns + block);
  }

  void run(const StepContext&) override {
    const int64_t registers = block_ / kLanes;
    for_each(Cell::kGates * registers, Cell::kGates * of_.features * of_.features,
             [&](int64_t column) { pack(column / registers, column % registers * kLanes); });
    for_shares(of_.samples, work_of(of_, Cell::kGates), [&](int64_t begin, int64_t end) { run_samples(begin, end); });
  }

 private:
  using T = typename Cell::T;
  using Item = ItemOf<T>;

  int64_t depth() const { return items_for<Item>(of_.features); }
  int64_t columns() const { return Cell::kGates * block_; }
  Panels panels() const { return {depth(), columns()}; }
  int64_t state_row() const { return item_row<Item>(of_.features); }

  // The rows of w of a gate from `first` on, as many as lanes, as columns of the panels, zeros behind the last feature; and their biases.
  void pack(int64_t gate, int64_t first) const {
    const int64_t F = of_.features, some = std::min<int64_t>(kLanes, F - first), column = gate * block_ + first;
    const float* const rows = w_ + (gate * F + first) * F;
    for (int64_t p = 0; p < depth(); p += kLanes) {
      Floats square[kLanes] = {};
      const int64_t at = p * kValues<Item>;
      for (int64_t i = 0; i < some; ++i) square[i] = reinterpret_cast<Floats>(rounded_items(rows + i * F + at, F - at));
      transpose(square);
      for (int64_t i = 0; i < std::min<int64_t>(kLanes, depth() - p); ++i)
        store(weights_ + panels().at(p + i, column), reinterpret_cast<RegisterOf<Item>>(square[i]));
    }
    store(bias_ + column, b_ ? load(b_ + gate * F + first, static_cast<int>(some)) : Floats{});
  }

  static RegisterOf<Item> rounded_items(const float* from, int64_t count) {
    const auto lanes = [&](int64_t skipped) { return static_cast<int>(std::clamp<int64_t>(count - skipped, 0, kLanes)); };
    if constexpr (kPaired<Item>)
      return as_neighbours(load(from, lanes(0)), load(from + lanes(0), lanes(kLanes)));
    else
      return load(from, lanes(0));
  }

  void run_samples(int64_t begin, int64_t end) const {
    const int64_t F = of_.features;
    std::fill(sums_ + begin * columns(), sums_ + end * columns(), 0.0f);
    std::fill(cells_ + begin * block_, cells_ + end * block_, 0.0f);
    for (int64_t s = 0; s < of_.length; ++s) {
      if (s > 0)
        product_of_panels(StridedOf<Item>{states_ + begin * state_row(), state_row(), 1}, weights_, panels(), end - begin,
                          [&](int64_t row, int64_t column, Floats sums) { store(sums_ + (begin + row) * columns() + column, sums); });
      for (int64_t n = begin; n < end; ++n) {
        const int64_t at = of_.at(n, s);
        T* const y = y_ + at * F;
        const T* const before = s > 0 ? y_ + of_.at(n, s - 1) * F : nullptr;
        if (of_.counts(n, s)) {
          cell_.step(at, {sums_ + n * columns(), bias_, block_}, before, cells_ + n * block_, y);
          if (previous_) copy_or_clear(before, previous_ + at * F);
        } else {
          cell_.skip(at);
          std::fill_n(y, F, T{});
          if (previous_) std::fill_n(previous_ + at * F, F, T{});
        }
        to_items(y, F, states_ + n * state_row());
      }
    }
  }

  void copy_or_clear(const T* from, T* to) const { from ? std::copy_n(from, of_.features, to) : std::fill_n(to, of_.features, T{}); }

  const Sequences of_;
  const int64_t block_;  // features of a gate, rounded up to registers
  const float *w_, *b_;  // (rows, F), (rows) or null
  T* y_;                 // (N, T, F)
  T* previous_;          // (N, T, F) or null
  const Cell cell_;
  const PlannedItems<float> memory_;
  Item* weights_;  // (items of F, columns) in panels: the transpose of w
  float* bias_;    // (columns)
  Item* states_;   // (N, items of F)
  float* sums_;    // (N, columns)
  float* cells_;   // (N, block)
};

template <class T> using LstmForward = Forward<Lstm<T>>;
template <class T> using GruForward = Forward<Gru<T>>;

template <template <class> class Typed> size_t scratch_of(const Shapes& shapes, const LoweringAnswer& answer) {
  const Sequences of(shapes.output(0), shapes.attributes(), nullptr);
  return for_type(answer.inputs[0].type, [&]<class T>() { return static_cast<size_t>(Typed<T>::floats(of)) * sizeof(float); });
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "lstm",
       .inputs = forward_ports(),
       .outputs = {{"y", canonical}, {"gates", canonical, true}, {"cells", parameter, true}, {"previous", canonical, true}},
       .check = [](const Shapes& shapes) { check_recurrent(shapes, 4, 4); },
       .make = make_typed<LstmForward>,
       .in_place = {{1, 0}},
       .scratch = scratch_of<LstmForward>},
      {.kind = "gru",
       .inputs = forward_ports(),
       .outputs = {{"y", canonical}, {"gates", canonical, true}, {"previous", canonical, true}},
       .check = [](const Shapes& shapes) { check_recurrent(shapes, 3, 3); },
       .make = make_typed<GruForward>,
       .scratch = scratch_of<GruForward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
