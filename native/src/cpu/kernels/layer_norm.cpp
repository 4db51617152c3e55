// Layer norm over the last axis: y = (x - mean) * inverse * gamma + beta for each row, inverse = 1 / sqrt(variance + epsilon), the variance
// biased. Its gradient, with g = gy * gamma and xhat = (x - mean) * inverse: gx = inverse * (g - mean(g) - xhat * mean(g * xhat)),
// ggamma = sum gy * xhat, gbeta = sum gy.
#include <cmath>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/rows.h"

namespace arbalest::kernels {
namespace {

template <class T> class LayerNorm final : public Kernel {
 public:
  explicit LayerNorm(const OperatorSpec& spec)
      : rows_(spec.inputs[0].shape()),
        x_(input<T>(spec, 0)),
        gamma_(input<float>(spec, 1)),
        beta_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)),
        means_(output<float>(spec, 1)),
        inverses_(output<float>(spec, 2)),
        share_(1 / static_cast<float>(rows_.width)),
        epsilon_(static_cast<float>(spec.attributes.number("epsilon"))) {}

  void run(const StepContext&) override {
    for_each_row(rows_, [&](int64_t row) { normalise(row); });
  }

 private:
  void normalise(int64_t row) const {
    const T* x = x_ + row * rows_.width;
    T* y = y_ + row * rows_.width;
    Floats sums{}, squares{};
    for_each_register(0, rows_.width, [&]<bool Partial>(int64_t at, int width) { sums += load<Partial>(x + at, width); });
    const float mean = total_of(sums) * share_;
    for_each_register(0, rows_.width, [&]<bool Partial>(int64_t at, int width) {
      Floats centred = load<Partial>(x + at, width) - mean;
      if constexpr (Partial) centred = lane_numbers() < width ? centred : Floats{};
      squares += centred * centred;
    });
    const float inverse = 1 / std::sqrt(total_of(squares) * share_ + epsilon_);
    for_each_register(0, rows_.width, [&]<bool Partial>(int64_t at, int width) {
      const Floats normalised = (load<Partial>(x + at, width) - mean) * inverse;
      store<Partial>(y + at, normalised * load<Partial>(gamma_ + at, width) + load<Partial>(beta_ + at, width), width);
    });
    if (means_) means_[row] = mean;
    if (inverses_) inverses_[row] = inverse;
  }

  const Rows rows_;
  const T* x_;                  // (rows, F)
  const float *gamma_, *beta_;  // (F)
  T* y_;                        // (rows, F)
  float *means_, *inverses_;    // (rows) or null
  const float share_, epsilon_;
};

// Rows whose products are summed in float before they are added up in double.
constexpr int64_t kRowsAChunk = 64;

template <class T> class LayerNormBackward final : public Kernel {
 public:
  explicit LayerNormBackward(const OperatorSpec& spec)
      : rows_(spec.inputs[0].shape()),
        x_(input<T>(spec, 0)),
        gamma_(input<float>(spec, 1)),
        means_(input<float>(spec, 2)),
        inverses_(input<float>(spec, 3)),
        gy_(input<T>(spec, 4)),
        gx_(output<T>(spec, 0)),
        ggamma_(output<float>(spec, 1)),
        gbeta_(output<float>(spec, 2)),
        share_(1 / static_cast<float>(rows_.width)),
        chunks_((rows_.count + kRowsAChunk - 1) / kRowsAChunk),
        products_(static_cast<size_t>(2 * chunks_ * rows_.width)) {}

  void run(const StepContext&) override {
    for_each(chunks_, rows_.elements(), [&](int64_t chunk) { run_chunk(chunk); });
    for (int64_t f = 0; f < rows_.width; ++f) {
      double scale = 0, shift = 0;
      for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
        const float* sums = products_.data() + 2 * chunk * rows_.width;
        scale += static_cast<double>(sums[f]);
        shift += static_cast<double>(sums[rows_.width + f]);
      }
      ggamma_[f] = static_cast<float>(scale);
      gbeta_[f] = static_cast<float>(shift);
    }
  }

 private:
  void run_chunk(int64_t chunk) {
    float* const scales = products_.data() + 2 * chunk * rows_.width;
    std::fill_n(scales, 2 * rows_.width, 0.0f);
    const int64_t last = std::min(rows_.count, (chunk + 1) * kRowsAChunk);
    for (int64_t row = chunk * kRowsAChunk; row < last; ++row) run_row(row, scales, scales + rows_.width);
  }

  void run_row(int64_t row, float* scales, float* shifts) const {
    const T *x = x_ + row * rows_.width, *gy = gy_ + row * rows_.width;
    const float mean = means_[row], inverse = inverses_[row];
    Floats sums{}, products{};
    for_each_register(0, rows_.width, [&]<bool Partial>(int64_t at, int width) {
      const Floats gradient = load<Partial>(gy + at, width), normalised = (load<Partial>(x + at, width) - mean) * inverse;
      store<Partial>(scales + at, load<Partial>(scales + at, width) + gradient * normalised, width);
      store<Partial>(shifts + at, load<Partial>(shifts + at, width) + gradient, width);
      const Floats scaled = gradient * load<Partial>(gamma_ + at, width);
      sums += scaled;
      products += scaled * normalised;
    });
    if (!gx_) return;
    const float sum = total_of(sums) * share_, product = total_of(products) * share_;
    T* gx = gx_ + row * rows_.width;
    for_each_register(0, rows_.width, [&]<bool Partial>(int64_t at, int width) {
      const Floats normalised = (load<Partial>(x + at, width) - mean) * inverse;
      const Floats scaled = load<Partial>(gy + at, width) * load<Partial>(gamma_ + at, width);
      store<Partial>(gx + at, (scaled - sum - normalised * product) * inverse, width);
    });
  }

  const Rows rows_;
  const T* x_;                               // (rows, F)
  const float *gamma_, *means_, *inverses_;  // (F), (rows), (rows)
  const T* gy_;                              // (rows, F)
  T* gx_;                                    // (rows, F) or null
  float *ggamma_, *gbeta_;                   // (F)
  const float share_;
  const int64_t chunks_;
  std::vector<float> products_;  // (chunks, 2, F)
};

Shape without_last(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

void check_forward(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank_at_least(0, 2);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2}) shapes.input_is(i, {x.back()});
  shapes.output_is(0, x);
  for (size_t i : {1, 2}) shapes.output_is(i, without_last(x));
}

void check_backward(const Shapes& shapes) {
  shapes.input_rank_at_least(0, 2);
  const Shape& x = shapes.input(0);
  shapes.input_is(1, {x.back()});
  for (size_t i : {2, 3}) shapes.input_is(i, without_last(x));
  shapes.input_is(4, x);
  shapes.output_is(0, x);
  for (size_t i : {1, 2}) shapes.output_is(i, {x.back()});
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"layerNorm",
       {{"x", canonical}, {"gamma", parameter}, {"beta", parameter}},
       {{"y", canonical}, {"mean", parameter, true}, {"inverse", parameter, true}},
       check_forward,
       make_typed<LayerNorm>,
       {{0, 0}}},
      {"layerNormBackward",
       {{"x", canonical}, {"gamma", parameter}, {"mean", parameter}, {"inverse", parameter}, {"gy", canonical}},
       {{"gx", canonical, true}, {"ggamma", parameter}, {"gbeta", parameter}},
       check_backward,
       make_typed<LayerNormBackward>,
       // The whole row is read before its gradient is written, and each element again just before its own.
       {{0, 4}, {0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
