// The gradient of batch norm, with the mask of its ReLU, the sum of two incoming gradients and the gradient of its residual.
// With g = (gy + gy2) masked by 0 < y < most, xhat = (x - mean) / deviation and M elements a channel: gresidual = g, gbeta = sum g,
// ggamma = sum g * xhat, gx = gamma / deviation * (g - gbeta / M - xhat * ggamma / M).
#include "cpu/kernels/batch_norm.h"

namespace arbalest::kernels {
namespace {

struct Products {
  double sum[kMostWidth], product[kMostWidth];  // of g, of g * (x - mean)
};

// gx = g * scale + (x - mean) * slope + offset. All are zero in padding lanes, and so is gx.
struct GradientRow {
  float mean[kMostWidth], scale[kMostWidth], slope[kMostWidth], offset[kMostWidth];
};

template <class T> struct Streams {
  const T *x, *y, *gy, *gy2;
  T *gx, *gresidual;
  float most;

  Streams at(int64_t offset) const {
    const auto moved = [offset](auto* pointer) { return pointer ? pointer + offset : nullptr; };
    return {moved(x), moved(y), moved(gy), moved(gy2), moved(gx), moved(gresidual), most};
  }
};

// The streams that are present.
template <bool Masked, bool Second, bool Residual> struct Variant {
  static constexpr bool masked = Masked, second = Second, residual = Residual;
};

template <class Which, class T, bool Partial> Floats gradient(const Streams<T>& streams, int64_t at, int width) {
  Floats g = load<Partial>(streams.gy + at, width);
  if constexpr (Which::second) g += load<Partial>(streams.gy2 + at, width);
  if constexpr (Which::masked) g = where_within(load<Partial>(streams.y + at, width), streams.most, g);
  return g;
}

template <class Which, class T> void fetch_ahead_of_sums(const Streams<T>& streams, int64_t at) {
  fetch_ahead(streams.x + at);
  fetch_ahead(streams.gy + at);
  if constexpr (Which::masked) fetch_ahead(streams.y + at);
  if constexpr (Which::second) fetch_ahead(streams.gy2 + at);
  if constexpr (Which::residual) fetch_ahead<true>(streams.gresidual + at);
}

template <class Which, class T, int Vectors, bool Partial>
void sum_rows(Streams<T> streams, int64_t rows, int64_t stride, int width, const float* mean, Floats* sums, Floats* products) {
  constexpr int kUnrolled = 4 / Vectors;
  Floats middle[Vectors], sum[kUnrolled][Vectors] = {}, product[kUnrolled][Vectors] = {};
  for (int v = 0; v < Vectors; ++v) middle[v] = load(mean + v * kLanes);
  const auto add = [&](int64_t row, int chain) {
    if (kOutrunsMemory && chain % kRowsOfLine<T, Vectors> == 0) fetch_ahead_of_sums<Which>(streams, row * stride);
    for (int v = 0; v < Vectors; ++v) {
      const int64_t at = row * stride + v * kLanes;
      const Floats g = gradient<Which, T, Partial>(streams, at, width);
      if constexpr (Which::residual) store<Partial>(streams.gresidual + at, g, width);
      sum[chain][v] += g;
      product[chain][v] += g * (load<Partial>(streams.x + at, width) - middle[v]);
    }
  };
  int64_t row = 0;
  for (; row + kUnrolled <= rows; row += kUnrolled) {
    for (int chain = 0; chain < kUnrolled; ++chain) add(row + chain, chain);
  }
  for (; row < rows; ++row) add(row, 0);
  for (int chain = 0; chain < kUnrolled; ++chain) {
    for (int v = 0; v < Vectors; ++v) {
      sums[v] += sum[chain][v];
      products[v] += product[chain][v];
    }
  }
}

template <class Which, class T, int Vectors, bool Partial>
void apply_rows(Streams<T> streams, int64_t rows, int64_t stride, int width, const GradientRow& by) {
  Floats mean[Vectors], scale[Vectors], slope[Vectors], offset[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    mean[v] = load(by.mean + v * kLanes);
    scale[v] = load(by.scale + v * kLanes);
    slope[v] = load(by.slope + v * kLanes);
    offset[v] = load(by.offset + v * kLanes);
  }
#pragma GCC unroll 4
  for (int64_t row = 0; row < rows; ++row) {
    if (kOutrunsMemory && row % kRowsOfLine<T, Vectors> == 0) fetch_ahead<true>(streams.gx + row * stride);
    for (int v = 0; v < Vectors; ++v) {
      const int64_t at = row * stride + v * kLanes;
      Floats g;
      if constexpr (Which::residual)
        g = load<Partial>(streams.gresidual + at, width);
      else
        g = gradient<Which, T, Partial>(streams, at, width);
      const Floats value = g * scale[v] + ((load<Partial>(streams.x + at, width) - mean[v]) * slope[v] + offset[v]);
      store<Partial>(streams.gx + at, value, width);
    }
  }
}

template <class T> class BatchNormBackward final : public Kernel {
 public:
  explicit BatchNormBackward(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        streams_{input<T>(spec, 0),       nullptr, input<T>(spec, 5), input<T>(spec, 6), output<T>(spec, 0), output<T>(spec, 3),
                 most_of(spec.attributes)},
        gamma_(input<float>(spec, 1)),
        mean_(input<float>(spec, 2)),
        variance_(input<float>(spec, 3)),
        ggamma_(output<float>(spec, 1)),
        gbeta_(output<float>(spec, 2)),
        epsilon_(spec.attributes.number("epsilon")),
        products_(spec, partial_sums(layout_)),
        rows_(layout_.groups.size()) {
    if (spec.attributes.number("relu", 0) != 0) streams_.y = input<T>(spec, 4);
  }

  void run(const StepContext&) override {
    if (streams_.y)
      run_second<true>();
    else
      run_second<false>();
  }

 private:
  template <bool Masked> void run_second() {
    if (streams_.gy2)
      run_residual<Masked, true>();
    else
      run_residual<Masked, false>();
  }

  template <bool Masked, bool Second> void run_residual() {
    if (streams_.gresidual)
      run_variant<Variant<Masked, Second, true>>();
    else
      run_variant<Variant<Masked, Second, false>>();
  }

  template <class Which> void run_variant() {
    two_passes(
        layout_, [&](int64_t group, int64_t chunk) { gather<Which>(group, chunk); }, [&](int64_t group) { finish(group); },
        [&](int64_t group, int64_t image) { apply<Which>(group, image); });
  }

  template <class Which> void gather(int64_t g, int64_t chunk) {
    const ChannelGroup& group = layout_.groups[g];
    const int64_t first = chunk * layout_.images_a_chunk(), last = std::min(layout_.images, first + layout_.images_a_chunk());
    float mean[kMostWidth];
    spread(group, mean, mean_ + group.channel);
    Floats sums[kMostVectors] = {}, products[kMostVectors] = {};
    for_registers(group, [&]<int Vectors, bool Partial>() {
      for (int64_t image = first; image < last; ++image) {
        const Streams<T> streams = streams_.at(layout_.at(group, image));
        sum_rows<Which, T, Vectors, Partial>(streams, layout_.rows, layout_.row_stride, group.width, mean, sums, products);
        if (!layout_.tail) continue;
        sum_rows<Which, T, 1, true>(streams.at(layout_.rows * layout_.row_stride), 1, 0, layout_.tail, mean, sums, products);
      }
    });
    Products& found = products_[g * layout_.chunks() + chunk];
    for (int i = 0; i < group.vectors * kLanes; ++i) {
      found.sum[i] = sums[i / kLanes][i % kLanes];
      found.product[i] = products[i / kLanes][i % kLanes];
    }
  }

  void finish(int64_t g) {
    const ChannelGroup& group = layout_.groups[g];
    const double elements = static_cast<double>(layout_.elements_a_channel);
    float scale[kMostWidth], slope[kMostWidth], offset[kMostWidth];
    for (int c = 0; c < group.channels; ++c) {
      double sum = 0, product = 0;
      for (int64_t chunk = 0; chunk < layout_.chunks(); ++chunk) {
        const Products& found = products_[g * layout_.chunks() + chunk];
        for (int i = c; i < group.width; i += group.period) {
          sum += found.sum[i];
          product += found.product[i];
        }
      }
      const int64_t channel = group.channel + c;
      const double inverse = 1 / std::sqrt(variance_[channel] + epsilon_), factor = gamma_[channel] * inverse;
      gbeta_[channel] = static_cast<float>(sum);
      ggamma_[channel] = static_cast<float>(product * inverse);
      scale[c] = static_cast<float>(factor);
      slope[c] = static_cast<float>(-factor * inverse * inverse * product / elements);
      offset[c] = static_cast<float>(-factor * sum / elements);
    }
    GradientRow& row = rows_[g];
    spread(group, row.mean, mean_ + group.channel);
    spread(group, row.scale, scale);
    spread(group, row.slope, slope);
    spread(group, row.offset, offset);
  }

  template <class Which> void apply(int64_t g, int64_t image) {
    if (!streams_.gx) return;
    const ChannelGroup& group = layout_.groups[g];
    const Streams<T> streams = streams_.at(layout_.at(group, image));
    for_registers(group, [&]<int Vectors, bool Partial>() {
      apply_rows<Which, T, Vectors, Partial>(streams, layout_.rows, layout_.row_stride, group.width, rows_[g]);
    });
    if (layout_.tail) {
      apply_rows<Which, T, 1, true>(streams.at(layout_.rows * layout_.row_stride), 1, 0, layout_.tail, rows_[g]);
    }
  }

  const ChannelGroups layout_;
  Streams<T> streams_;
  const float *gamma_, *mean_, *variance_;  // (C)
  float *ggamma_, *gbeta_;                  // (C)
  const double epsilon_;
  PlannedItems<Products> products_;  // (groups, chunks)
  std::vector<GradientRow> rows_;    // (groups)
};

void check(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank(0, 4);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2, 3}) shapes.input_is(i, {x[1]});
  for (size_t i : {4, 5, 6}) shapes.input_is(i, x);
  if (shapes.attributes().number("relu", 0) != 0 && !shapes.has_input(4)) {
    shapes.refuse("input y", "none", "give it: with relu the gradient is masked by y > 0");
  }
  for (size_t i : {0, 3}) shapes.output_is(i, x);
  for (size_t i : {1, 2}) shapes.output_is(i, {x[1]});
}

std::vector<Operator> operators() {
  using enum Role;
  return {{"batchNormBackward",
           {{"x", activation},
            {"gamma", parameter},
            {"mean", parameter},
            {"variance", parameter},
            {"y", activation, true},
            {"gy", activation},
            {"gy2", activation, true}},
           {{"gx", activation, true}, {"ggamma", parameter}, {"gbeta", parameter}, {"gresidual", activation, true}},
           check,
           make_typed<BatchNormBackward>,
           // Every element is read before it is written, by the first pass (gresidual) or by the second (gx).
           {{0, 5}, {3, 6}, {0, 0}, {3, 4}},
           scratch_of<Products>}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
