// Batch norm with residual add and ReLU in one operator: Ioffe and Szegedy, "Batch normalization", ICML 2015.
// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta (+ residual), (in [0, most]), with the batch's statistics or with given ones.
#include "cpu/kernels/batch_norm.h"

namespace arbalest::kernels {
namespace {

// Sums of (x - shift) and of its square over a chunk, element by element of a row. With a shift near the mean nothing cancels, so one pass
// in float is as good as two: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
struct Moments {
  double count[kMostWidth], mean[kMostWidth], square[kMostWidth];  // square: of the differences from the mean
};

template <int Vectors> struct Sums {
  Floats shift[Vectors], sum[Vectors] = {}, square[Vectors] = {};
};

template <class T, int Vectors, bool Partial> void add_rows(const T* x, int64_t rows, int64_t stride, int width, Sums<Vectors>& sums) {
  constexpr int kUnrolled = 4 / Vectors;  // chains of additions enough to hide their latency
  Floats shift[Vectors], sum[kUnrolled][Vectors] = {}, square[kUnrolled][Vectors] = {};
  for (int v = 0; v < Vectors; ++v) shift[v] = sums.shift[v];
  const auto add = [&](const T* row, int chain) {
    if (chain % kRowsOfLine<T, Vectors> == 0) fetch_ahead(row);
    for (int v = 0; v < Vectors; ++v) {
      const Floats difference = load<Partial>(row + v * kLanes, width) - shift[v];
      sum[chain][v] += difference;
      square[chain][v] += difference * difference;
    }
  };
  int64_t row = 0;
  for (; row + kUnrolled <= rows; row += kUnrolled) {
    for (int chain = 0; chain < kUnrolled; ++chain) add(x + (row + chain) * stride, chain);
  }
  for (; row < rows; ++row) add(x + row * stride, 0);
  for (int chain = 0; chain < kUnrolled; ++chain) {
    for (int v = 0; v < Vectors; ++v) {
      sums.sum[v] += sum[chain][v];
      sums.square[v] += square[chain][v];
    }
  }
}

template <class T, int Vectors, bool Partial, bool Residual, bool Relu>
void normalise_rows(const T* x, const T* residual, T* y, int64_t rows, int64_t stride, int width, float most, const NormaliseRow& by) {
  Floats mean[Vectors], scale[Vectors], beta[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    mean[v] = load(by.mean + v * kLanes);
    scale[v] = load(by.scale + v * kLanes);
    beta[v] = load(by.beta + v * kLanes);
  }
#pragma GCC unroll 4
  for (int64_t row = 0; row < rows; ++row) {
    if (row % kRowsOfLine<T, Vectors> == 0) fetch_ahead<true>(y + row * stride);
    for (int v = 0; v < Vectors; ++v) {
      const int64_t at = row * stride + v * kLanes;
      Floats value = (load<Partial>(x + at, width) - mean[v]) * scale[v] + beta[v];
      if constexpr (Residual) value += load<Partial>(residual + at, width);
      if constexpr (Relu) value = rectified(value, most);
      store<Partial>(y + at, value, width);
    }
  }
}

template <class T> class Normaliser {
 public:
  Normaliser(const ChannelGroups& layout, const T* x, const T* residual, T* y, const Attributes& attributes)
      : layout_(layout), x_(x), residual_(residual), y_(y), relu_(attributes.number("relu", 0) != 0), most_(most_of(attributes)) {}

  void apply(const ChannelGroup& group, int64_t image, const NormaliseRow& by) const {
    if (residual_)
      relu_ ? run<true, true>(group, image, by) : run<true, false>(group, image, by);
    else
      relu_ ? run<false, true>(group, image, by) : run<false, false>(group, image, by);
  }

 private:
  template <bool Residual, bool Relu> void run(const ChannelGroup& group, int64_t image, const NormaliseRow& by) const {
    const int64_t begin = layout_.at(group, image), end = begin + layout_.rows * layout_.row_stride;
    const auto residual = [&](int64_t at) { return Residual ? residual_ + at : nullptr; };
    for_registers(group, [&]<int Vectors, bool Partial>() {
      normalise_rows<T, Vectors, Partial, Residual, Relu>(x_ + begin, residual(begin), y_ + begin, layout_.rows, layout_.row_stride,
                                                          group.width, most_, by);
    });
    if (layout_.tail) normalise_rows<T, 1, true, Residual, Relu>(x_ + end, residual(end), y_ + end, 1, 0, layout_.tail, most_, by);
  }

  const ChannelGroups& layout_;
  const T *x_, *residual_;
  T* y_;
  bool relu_;
  float most_;
};

template <class T> class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        x_(input<T>(spec, 0)),
        gamma_(input<float>(spec, 1)),
        beta_(input<float>(spec, 2)),
        mean_(output<float>(spec, 1)),
        variance_(output<float>(spec, 2)),
        epsilon_(spec.attributes.number("epsilon")),
        normaliser_(layout_, x_, input<T>(spec, 3), output<T>(spec, 0), spec.attributes),
        moments_(spec, partial_sums(layout_)),
        rows_(layout_.groups.size()) {}

  void run(const StepContext&) override {
    two_passes(
        layout_, [&](int64_t group, int64_t chunk) { gather(group, chunk); }, [&](int64_t group) { finish(group); },
        [&](int64_t group, int64_t image) { normaliser_.apply(layout_.groups[group], image, rows_[group]); });
  }

 private:
  void gather(int64_t g, int64_t chunk) {
    const ChannelGroup& group = layout_.groups[g];
    Moments& moments = moments_[g * layout_.chunks() + chunk];
    for_registers(group, [&]<int Vectors, bool Partial>() { gather_rows<Vectors, Partial>(group, chunk, moments); });
  }

  template <int Vectors, bool Partial> void gather_rows(const ChannelGroup& group, int64_t chunk, Moments& moments) {
    const int64_t first = chunk * layout_.images_a_chunk(), last = std::min(layout_.images, first + layout_.images_a_chunk());
    const int64_t rows = layout_.rows, stride = layout_.row_stride;
    Sums<Vectors> sums;
    // A shift near the mean: that of some rows from all over the chunk's first image.
    constexpr int64_t kSamples = 8;
    Floats sample[Vectors] = {};
    for (int64_t i = 0; i < kSamples; ++i) {
      const T* row = x_ + layout_.at(group, first) + i * rows / kSamples * stride;
      for (int v = 0; v < Vectors; ++v) {
        sample[v] += rows > 0 ? load<Partial>(row + v * kLanes, group.width) : load<true>(row, layout_.tail);
      }
    }
    for (int v = 0; v < Vectors; ++v) sums.shift[v] = sample[v] * (1.0f / kSamples);

    Sums<1> tails;
    tails.shift[0] = sums.shift[0];
    for (int64_t image = first; image < last; ++image) {
      const T* x = x_ + layout_.at(group, image);
      add_rows<T, Vectors, Partial>(x, rows, stride, group.width, sums);
      if (layout_.tail) add_rows<T, 1, true>(x + rows * stride, 1, 0, layout_.tail, tails);
    }
    const auto images = static_cast<double>(last - first), count = images * static_cast<double>(rows);
    for (int v = 0; v < Vectors; ++v) note(sums.shift[v], sums.sum[v], sums.square[v], count, v * kLanes, (v + 1) * kLanes, moments);
    if (layout_.tail)
      note(tails.shift[0], sums.sum[0] + tails.sum[0], sums.square[0] + tails.square[0], count + images, 0, layout_.tail, moments);
  }

  // Elements [begin, end) of a row, all in one register.
  static void note(Floats shift, Floats sum, Floats square, double count, int begin, int end, Moments& moments) {
    const double inverse = count > 0 ? 1 / count : 0;
    for (int i = begin; i < end; ++i) {
      const int lane = i % kLanes;
      const double step = sum[lane] * inverse;
      moments.count[i] = count;
      moments.mean[i] = shift[lane] + step;
      moments.square[i] = std::max(0.0, square[lane] - step * sum[lane]);
    }
  }

  void finish(int64_t g) {
    const ChannelGroup& group = layout_.groups[g];
    for (int c = 0; c < group.channels; ++c) {
      double count = 0, mean = 0, square = 0;
      for (int64_t chunk = 0; chunk < layout_.chunks(); ++chunk) {
        const Moments& moments = moments_[g * layout_.chunks() + chunk];
        for (int i = c; i < group.width; i += group.period) {
          if (moments.count[i] == 0) continue;
          const double total = count + moments.count[i], step = moments.mean[i] - mean, share = moments.count[i] / total;
          square += moments.square[i] + step * step * count * share;
          mean += step * share;
          count = total;
        }
      }
      mean_[group.channel + c] = static_cast<float>(mean);
      variance_[group.channel + c] = static_cast<float>(square / count);
    }
    rows_[g] = NormaliseRow(group, mean_, variance_, gamma_, beta_, epsilon_);
  }

  const ChannelGroups layout_;
  const T* x_;
  const float *gamma_, *beta_;  // (C)
  float *mean_, *variance_;     // (C)
  const double epsilon_;
  const Normaliser<T> normaliser_;
  PlannedItems<Moments> moments_;   // (groups, chunks)
  std::vector<NormaliseRow> rows_;  // (groups)
};

template <class T> class BatchNormInference final : public Kernel {
 public:
  explicit BatchNormInference(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        gamma_(input<float>(spec, 1)),
        beta_(input<float>(spec, 2)),
        mean_(input<float>(spec, 3)),
        variance_(input<float>(spec, 4)),
        epsilon_(spec.attributes.number("epsilon")),
        normaliser_(layout_, input<T>(spec, 0), input<T>(spec, 5), output<T>(spec, 0), spec.attributes),
        rows_(layout_.groups.size()) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for (int64_t g = 0; g < groups; ++g) rows_[g] = NormaliseRow(layout_.groups[g], mean_, variance_, gamma_, beta_, epsilon_);
    for_each(groups * layout_.images, layout_.elements,
             [&](int64_t item) { normaliser_.apply(layout_.groups[item % groups], item / groups, rows_[item % groups]); });
  }

 private:
  const ChannelGroups layout_;
  const float *gamma_, *beta_, *mean_, *variance_;  // (C)
  const double epsilon_;
  const Normaliser<T> normaliser_;
  std::vector<NormaliseRow> rows_;  // (groups)
};

void check_forward(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank(0, 4);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2}) shapes.input_is(i, {x[1]});
  shapes.input_is(3, x);
  shapes.output_is(0, x);
  for (size_t i : {1, 2}) shapes.output_is(i, {x[1]});
}

void check_inference(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank(0, 4);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2, 3, 4}) shapes.input_is(i, {x[1]});
  shapes.input_is(5, x);
  shapes.output_is(0, x);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"batchNorm",
       {{"x", activation}, {"gamma", parameter}, {"beta", parameter}, {"residual", activation, true}},
       {{"y", activation}, {"mean", parameter}, {"variance", parameter}},
       check_forward,
       make_typed<BatchNorm>,
       {{0, 0}, {0, 3}},
       scratch_of<Moments>},
      {"batchNormInference",
       {{"x", activation},
        {"gamma", parameter},
        {"beta", parameter},
        {"mean", parameter},
        {"variance", parameter},
        {"residual", activation, true}},
       {{"y", activation}},
       check_inference,
       make_typed<BatchNormInference>,
       {{0, 0}, {0, 5}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
