// Every stride-th pixel of every stride-th row, between `before` and `after` channels of zeros: shortcut A of He et al., "Deep residual
// learning for image recognition", 2015.
#include "activation.h"
#include "operator.h"
#include "parallel.h"

namespace arbalest::kernels {
namespace {

// Channels [to, to + channels) of one block of the result, consecutive in one block of the source.
struct Run {
  int64_t source_offset;  // elements before the source's first pixel in its image
  int64_t lane;           // in the result's block
  int64_t lanes;
};

// Where the channels of each block of `result` lie in `source`, which has channel c of the result as its channel c + shift.
std::vector<std::vector<Run>> runs_of(const Activation& source, const Activation& result, int64_t shift) {
  std::vector<std::vector<Run>> blocks(static_cast<size_t>(result.blocks));
  for (int64_t channel = 0; channel < result.channels; ++channel) {
    const int64_t from = channel + shift, lane = channel % result.lanes;
    if (from < 0 || from >= source.channels) continue;
    std::vector<Run>& runs = blocks[static_cast<size_t>(channel / result.lanes)];
    const bool follows = !runs.empty() && runs.back().lane + runs.back().lanes == lane && from % source.lanes != 0;
    if (follows)
      ++runs.back().lanes;
    else
      runs.push_back({source.channel_offset(from), lane, 1});
  }
  return blocks;
}

// One plane of the result: result pixel (h * step, w * step) is source pixel (h * stride, w * stride), all else zero.
template <class T>
void copy_plane(const Activation& source, const Activation& result, const std::vector<Run>& runs, const T* from, T* to, int64_t stride,
                int64_t step) {
  const int64_t rows = (result.height + step - 1) / step, columns = (result.width + step - 1) / step;
  const bool whole = step == 1 && runs.size() == 1 && runs.front().lanes == result.lanes;
  if (!whole) std::memset(static_cast<void*>(to), 0, static_cast<size_t>(result.plane()) * sizeof(T));
  for (const Run& run : runs) {
    const int64_t from_step = stride * source.lanes, to_step = step * result.lanes;
    for (int64_t h = 0; h < rows; ++h) {
      const T* in = from + run.source_offset + h * stride * source.width * source.lanes;
      T* out = to + run.lane + h * step * result.width * result.lanes;
      const auto copy = [&](auto lanes) {
        for (int64_t w = 0; w < columns; ++w) std::memcpy(out + w * to_step, in + w * from_step, static_cast<size_t>(lanes) * sizeof(T));
      };
      if (run.lanes == 1)
        copy(std::integral_constant<int, 1>{});
      else if (run.lanes == 8)
        copy(std::integral_constant<int, 8>{});
      else if (run.lanes == 16)
        copy(std::integral_constant<int, 16>{});
      else
        copy(run.lanes);
    }
  }
}

// Both directions: forward thins the source out, backward puts it back between zeros.
template <class T> class SubsamplePad : public Kernel {
 public:
  SubsamplePad(const OperatorSpec& spec, int64_t shift, int64_t stride, int64_t step)
      : source_(activation_of(spec.inputs[0].spec)),
        result_(activation_of(spec.outputs[0].spec)),
        runs_(runs_of(source_, result_, shift)),
        stride_(stride),
        step_(step),
        from_(input<T>(spec, 0)),
        to_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(result_.images * result_.blocks, result_.elements(), [&](int64_t item) {
      const int64_t image = item / result_.blocks, block = item % result_.blocks;
      copy_plane(source_, result_, runs_[block], from_ + source_.offset(image, 0), to_ + result_.offset(image, block), stride_, step_);
    });
  }

 private:
  const Activation source_, result_;
  const std::vector<std::vector<Run>> runs_;  // by block of the result
  const int64_t stride_, step_;
  const T* from_;
  T* to_;
};

int64_t whole(const OperatorSpec& spec, const char* name) { return static_cast<int64_t>(spec.attributes.number(name)); }

template <class T> struct Forward final : SubsamplePad<T> {
  explicit Forward(const OperatorSpec& spec) : SubsamplePad<T>(spec, -whole(spec, "before"), whole(spec, "stride"), 1) {}
};

template <class T> struct Backward final : SubsamplePad<T> {
  explicit Backward(const OperatorSpec& spec) : SubsamplePad<T>(spec, whole(spec, "before"), 1, whole(spec, "stride")) {}
};

Shape subsampled(const Shapes& shapes, const Shape& x) {
  constexpr int64_t kMost = 1 << 20;
  const int64_t stride = shapes.whole("stride", 1, kMost), before = shapes.whole("before", 0, kMost),
                after = shapes.whole("after", 0, kMost);
  return {x[0], before + x[1] + after, (x[2] + stride - 1) / stride, (x[3] + stride - 1) / stride};
}

void check_forward(const Shapes& shapes) {
  shapes.input_axes(0, 4);
  shapes.output_is(0, subsampled(shapes, shapes.input(0)));
}

void check_backward(const Shapes& shapes) {
  shapes.output_axes(0, 4);
  shapes.input_is(0, subsampled(shapes, shapes.output(0)));
}

}  // namespace

std::vector<Operator> subsample_pad_operators() {
  using enum Role;
  return {
      {"subsamplePad", {{"x", activation}}, {{"y", activation}}, check_forward, make_typed<Forward>},
      {"subsamplePadBackward", {{"gy", activation}}, {{"gx", activation}}, check_backward, make_typed<Backward>},
  };
}

}  // namespace arbalest::kernels
