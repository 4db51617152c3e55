// Every stride-th pixel of every stride-th row, between `before` and `after` channels of zeros: shortcut A of He et al., "Deep residual
// learning for image recognition", 2015.
#include "cpu/kernels/channel_runs.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {
namespace {

// One plane of the result: result pixel (h * step, w * step) is source pixel (h * stride, w * stride), all else zero.
template <class T>
void copy_plane(const Activation& source, const Activation& result, const std::vector<ChannelRun>& runs, const T* from, T* to,
                int64_t stride, int64_t step) {
  const int64_t rows = (result.height + step - 1) / step, columns = (result.width + step - 1) / step;
  const bool whole = step == 1 && runs.size() == 1 && runs.front().lanes == result.lanes;
  if (!whole) std::memset(static_cast<void*>(to), 0, static_cast<size_t>(result.plane()) * sizeof(T));
  for (const ChannelRun& run : runs) {
    const int64_t from_step = stride * source.lanes, to_step = step * result.lanes;
    for (int64_t h = 0; h < rows; ++h) {
      const T* in = from + run.source_offset + h * stride * source.width * source.lanes;
      T* out = to + run.lane + h * step * result.width * result.lanes;
      copy_lanes(in, from_step, out, to_step, run.lanes, columns);
    }
  }
}

// Both directions: forward thins the source out, backward puts it back between zeros.
template <class T> class SubsamplePad : public Kernel {
 public:
  SubsamplePad(const OperatorSpec& spec, int64_t shift, int64_t stride, int64_t step)
      : source_(activation_of(spec.inputs[0].spec)),
        result_(activation_of(spec.outputs[0].spec)),
        runs_(channel_runs(source_, result_, shift)),
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
  const std::vector<std::vector<ChannelRun>> runs_;  // by block of the result
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
  shapes.input_rank(0, 4);
  shapes.output_is(0, subsampled(shapes, shapes.input(0)));
}

void check_backward(const Shapes& shapes) {
  shapes.output_rank(0, 4);
  shapes.input_is(0, subsampled(shapes, shapes.output(0)));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"subsamplePad", {{"x", activation}}, {{"y", activation}}, check_forward, make_typed<Forward>},
      {"subsamplePadBackward", {{"gy", activation}}, {{"gx", activation}}, check_backward, make_typed<Backward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
