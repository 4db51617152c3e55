// The gradients of recurrent layers with respect to what each position was given, from the last position that was computed to the first.
#include "cpu/kernels/recurrent.h"
#include "cpu/kernels/sigmoid.h"

namespace arbalest::kernels {
namespace {

using namespace recurrent;

template <class Number> class Lstm {
 public:
  using T = Number;
  static constexpr int64_t kGates = 4;

  Lstm(const OperatorSpec& spec, const Sequences& of)
      : of_(of), gates_(input<T>(spec, 0)), cells_(input<float>(spec, 1)), gx_(output<T>(spec, 0)) {}

  // Step s of a sample. `gstate` is the gradient that comes from the next step's product, `carried` that of the cell, which is replaced
  // by that for the step before. Returns the row whose product with w is the gradient of the state before.
  const T* step(int64_t sample, int64_t s, const T* gy, const float* gstate, float* carried) const {
    const int64_t F = of_.features, at = of_.at(sample, s);
    const T* const kept = gates_ + at * kKeptGates * F;
    const float *const cell = cells_ + at * F, *const before = s > 0 ? cells_ + of_.at(sample, s - 1) * F : nullptr;
    T* const gx = row(at);
    for_each_register(F, [&]<bool Partial>(int64_t f, int width) {
      const auto gate = [&](int64_t number) { return load<Partial>(kept + number * F + f, width); };
      const Floats i = gate(0), forget = gate(1), g = gate(2), o = gate(3);
      const Floats squashed = hyperbolic_tangent<T>(load<Partial>(cell + f, width));
      const Floats last = before ? load<Partial>(before + f, width) : Floats{};
      const Floats gh = load<Partial>(gy + f, width) + load(gstate + f);
      const Floats gc = load(carried + f) + gh * o * (1.0f - squashed * squashed);
      store(carried + f, gc * forget);
      store<Partial>(gx + f, gc * g * i * (1.0f - i), width);
      store<Partial>(gx + F + f, gc * last * forget * (1.0f - forget), width);
      store<Partial>(gx + 2 * F + f, gc * i * (1.0f - g * g), width);
      store<Partial>(gx + 3 * F + f, gh * squashed * o * (1.0f - o), width);
    });
    return gx;
  }

  const T* skip(int64_t sample, int64_t s) const {
    T* const gx = row(of_.at(sample, s));
    std::fill_n(gx, kGates * of_.features, T{});
    return gx;
  }

 private:
  T* row(int64_t at) const { return gx_ + at * kGates * of_.features; }

  const Sequences of_;
  const T* gates_;      // (N, T, 4F): i, f, g, o
  const float* cells_;  // (N, T, F)
  T* gx_;               // (N, T, 4F); may be gates
};

template <class Number> class Gru {
 public:
  using T = Number;
  static constexpr int64_t kGates = 3;

  Gru(const OperatorSpec& spec, const Sequences& of)
      : of_(of), gates_(input<T>(spec, 0)), previous_(input<T>(spec, 1)), gx_(output<T>(spec, 0)), gs_(output<T>(spec, 1)) {}

  // `carried` is what the next step's result had of this one's state.
  const T* step(int64_t sample, int64_t s, const T* gy, const float* gstate, float* carried) const {
    const int64_t F = of_.features, at = of_.at(sample, s);
    const T *const kept = gates_ + at * kKeptGates * F, *const before = previous_ + at * F;
    T *const gx = gx_ + at * kGates * F, *const gs = gs_ + at * kGates * F;
    for_each_register(F, [&]<bool Partial>(int64_t f, int width) {
      const auto gate = [&](int64_t number) { return load<Partial>(kept + number * F + f, width); };
      const Floats r = gate(0), z = gate(1), n = gate(2), held = gate(3);
      const Floats gh = load<Partial>(gy + f, width) + load(gstate + f) + load(carried + f);
      const Floats gn = gh * (1.0f - z) * (1.0f - n * n), gr = gn * held * r * (1.0f - r);
      const Floats gz = gh * (load<Partial>(before + f, width) - n) * z * (1.0f - z);
      store(carried + f, gh * z);
      for (T* const to : {gx, gs}) {
        store<Partial>(to + f, gr, width);
        store<Partial>(to + F + f, gz, width);
      }
      store<Partial>(gx + 2 * F + f, gn, width);
      store<Partial>(gs + 2 * F + f, gn * r, width);
    });
    return gs;
  }

  const T* skip(int64_t sample, int64_t s) const {
    const int64_t at = of_.at(sample, s) * kGates * of_.features;
    for (T* const to : {gx_, gs_}) std::fill_n(to + at, kGates * of_.features, T{});
    return gs_ + at;
  }

 private:
  const Sequences of_;
  const T* gates_;     // (N, T, 4F): r, z, n, what the state gave to n
  const T* previous_;  // (N, T, F)
  T *gx_, *gs_;        // (N, T, 3F)
};

template <class Cell> class Backward final : public Kernel {
 public:
  explicit Backward(const OperatorSpec& spec)
      : of_(spec.inputs[3].shape(), spec.attributes, input<float>(spec, 4)),
        block_(in_registers(of_.features)),
        w_(input<float>(spec, 2)),
        gy_(input<T>(spec, 3)),
        cell_(spec, of_),
        memory_(spec, static_cast<size_t>(floats(of_))) {
    Pieces pieces(&memory_[0]);
    weights_ = pieces.take<Item>(depth() * block_);
    gradients_ = pieces.take<Item>(of_.samples * row());
    gstates_ = pieces.take<float>(of_.samples * block_);
    carried_ = pieces.take<float>(of_.samples * block_);
  }

  static int64_t floats(const Sequences& of) {
    const int64_t block = in_registers(of.features), rows = Cell::kGates * of.features;
    return items_for<Item>(rows) * block + of.samples * (item_row<Item>(rows) + 2 * block);
  }

  void run(const StepContext&) override {
    for_each(depth(), rows() * of_.features, [&](int64_t item) { pack(item); });
    for_shares(of_.samples, work_of(of_, Cell::kGates), [&](int64_t begin, int64_t end) { run_samples(begin, end); });
  }

 private:
  using T = typename Cell::T;
  using Item = ItemOf<T>;

  int64_t rows() const { return Cell::kGates * of_.features; }
  int64_t depth() const { return items_for<Item>(rows()); }
  Panels panels() const { return {depth(), block_}; }
  int64_t row() const { return item_row<Item>(rows()); }

  // The rows of w that an item has, zeros behind the last feature and the last row.
  void pack(int64_t item) const {
    constexpr int64_t kTogether = kValues<Item>;
    for_each_register(of_.features, [&]<bool Partial>(int64_t f, int width) {
      Floats together[kTogether] = {};
      for (int64_t i = 0; i < kTogether && item * kTogether + i < rows(); ++i)
        together[i] = load<Partial>(w_ + (item * kTogether + i) * of_.features + f, width);
      store_together(weights_ + panels().at(item, f), together);
    });
  }

  void run_samples(int64_t begin, int64_t end) const {
    for (float* const sums : {gstates_, carried_}) std::fill(sums + begin * block_, sums + end * block_, 0.0f);
    for (int64_t s = of_.length - 1; s >= 0; --s) {
      for (int64_t n = begin; n < end; ++n) {
        float *const gstate = gstates_ + n * block_, *const carried = carried_ + n * block_;
        const T* const gradients =
            of_.counts(n, s) ? cell_.step(n, s, gy_ + of_.at(n, s) * of_.features, gstate, carried) : cell_.skip(n, s);
        to_items(gradients, rows(), gradients_ + n * row());
      }
      if (s > 0)
        product_of_panels(StridedOf<Item>{gradients_ + begin * row(), row(), 1}, weights_, panels(), end - begin,
                          [&](int64_t sample, int64_t column, Floats sums) { store(gstates_ + (begin + sample) * block_ + column, sums); });
    }
  }

  const Sequences of_;
  const int64_t block_;  // features, rounded up to registers
  const float* w_;       // (rows, F)
  const T* gy_;          // (N, T, F)
  const Cell cell_;
  const PlannedItems<float> memory_;
  Item* weights_;    // (items of rows, block) in panels: w
  Item* gradients_;  // (N, items of rows)
  float* gstates_;   // (N, block)
  float* carried_;   // (N, block)
};

template <class T> using LstmBackward = Backward<Lstm<T>>;
template <class T> using GruBackward = Backward<Gru<T>>;

template <template <class> class Typed> size_t scratch_of(const Shapes& shapes, const LoweringAnswer& answer) {
  const Sequences of(shapes.input(3), shapes.attributes(), nullptr);
  return for_type(answer.inputs[0].type, [&]<class T>() { return static_cast<size_t>(Typed<T>::floats(of)) * sizeof(float); });
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "lstmBackward",
       .inputs = {{"gates", canonical}, {"cells", parameter}, {"w", parameter}, {"gy", canonical}, {"lengths", parameter, true}},
       .outputs = {{"gx", canonical}},
       .check = [](const Shapes& shapes) { check_recurrent_gradient(shapes, 4, 1); },
       .make = make_typed<LstmBackward>,
       .in_place = {{0, 0}},
       .scratch = scratch_of<LstmBackward>},
      {.kind = "gruBackward",
       .inputs = {{"gates", canonical}, {"previous", canonical}, {"w", parameter}, {"gy", canonical}, {"lengths", parameter, true}},
       .outputs = {{"gx", canonical}, {"gs", canonical}},
       .check = [](const Shapes& shapes) { check_recurrent_gradient(shapes, 3, 2); },
       .make = make_typed<GruBackward>,
       .scratch = scratch_of<GruBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
