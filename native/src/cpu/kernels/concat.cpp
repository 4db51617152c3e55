// Channels of several activations side by side, and the gradient, which separates them again.
#include "cpu/kernels/channel_runs.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {
namespace {

// With one pixel plain is nhwc: the channels are consecutive.
Activation view_of(TensorSpec spec) {
  spec.shape = channels_second(spec.shape);
  Activation view = activation_of(spec);
  if (view.lanes == 1 && view.pixels() == 1) {
    view.lanes = view.channels;
    view.blocks = 1;
  }
  return view;
}

// One source's share of a result that has its channel c as channel c + shift.
template <class T> struct Part {
  Part(const Tensor& source, const Activation& result, int64_t shift)
      : view(view_of(source.spec)), runs(channel_runs(view, result, shift)), from(source.as<T>()) {}

  void copy(const Activation& result, int64_t image, int64_t block, T* to) const {
    for (const ChannelRun& run : runs[static_cast<size_t>(block)]) {
      copy_lanes(from + view.offset(image, 0) + run.source_offset, view.lanes, to + result.offset(image, block) + run.lane, result.lanes,
                 run.lanes, result.pixels());
    }
  }

  Activation view;
  std::vector<std::vector<ChannelRun>> runs;  // by block of the result
  const T* from;
};

template <class T> class Concat final : public Kernel {
 public:
  explicit Concat(const OperatorSpec& spec) : result_(view_of(spec.outputs[0].spec)), y_(output<T>(spec, 0)) {
    int64_t before = 0;
    for (const Tensor& source : spec.inputs) {
      if (!source) continue;
      parts_.emplace_back(source, result_, -before);
      before += parts_.back().view.channels;
    }
  }

  void run(const StepContext&) override {
    for_each(result_.images * result_.blocks, result_.elements(), [&](int64_t item) {
      for (const Part<T>& part : parts_) part.copy(result_, item / result_.blocks, item % result_.blocks, y_);
    });
    clear_padding(result_, y_);
  }

 private:
  const Activation result_;
  T* y_;
  std::vector<Part<T>> parts_;
};

template <class T> class ConcatBackward final : public Kernel {
 public:
  explicit ConcatBackward(const OperatorSpec& spec) {
    const std::vector<double>& channels = spec.attributes.list("channels");
    int64_t before = 0;
    for (size_t i = 0; i < channels.size(); before += static_cast<int64_t>(channels[i++])) {
      if (i >= spec.outputs.size() || !spec.outputs[i]) continue;
      const Activation result = view_of(spec.outputs[i].spec);
      shares_.push_back({result, Part<T>(spec.inputs[0], result, before), output<T>(spec, i)});
    }
  }

  void run(const StepContext&) override {
    for (const auto& [result, part, gx] : shares_) {
      for_each(result.images * result.blocks, result.elements(), [&, &result = result, &part = part, gx = gx](int64_t item) {
        part.copy(result, item / result.blocks, item % result.blocks, gx);
      });
      clear_padding(result, gx);
    }
  }

 private:
  struct Share {
    Activation result;
    Part<T> part;
    T* gx;
  };
  std::vector<Share> shares_;
};

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"concat", {{"x", activation, false, true}}, {{"y", activation}}, check_concat<Shapes>, make_typed<Concat>},
      {"concatBackward", {{"gy", activation}}, {{"gx", activation, true, true}}, check_concat_gradient<Shapes>, make_typed<ConcatBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
