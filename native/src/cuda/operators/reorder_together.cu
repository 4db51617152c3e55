// Several tensors in another layout or element type. Those between f32 and bf16, as weights are at a step's beginning and their gradients
// at its end, take one launch for as many as its arguments hold: a table by value, each thread some neighbouring elements of one of them.
#include "cuda/launch.h"
#include "cuda/operators/order.h"
#include "cuda/operators/queued.h"
#include "cuda/parts.h"

namespace arbalest::cuda {
namespace {

// The elements of a pack of the narrower type.
constexpr int kRun = kWidest<Bf16>;

template <class From, class To> struct Converted {
  const From* from = nullptr;
  To* to = nullptr;
  Order order;
  int elements = 0;
  int first = 0;  // of its runs among all of the table
};

// A launch's arguments have at least 4 KiB.
constexpr int kMostTensors = 96;

template <class From, class To> struct Conversion {
  Converted<From, To> tensors[kMostTensors];
  int count = 0, runs = 0;

  EVERYWHERE void operator()(int64_t i) const {
    const Converted<From, To>& of = part_at(tensors, count, static_cast<int>(i));
    const int64_t run = i - of.first;
    if (of.order.same() && (run + 1) * kRun <= of.elements) {
      const Pack<From, kRun> values = read<From, kRun>(of.from, run);
      Pack<To, kRun> converted;
      for (int v = 0; v < kRun; ++v) converted.at[v] = To(float(values.at[v]));
      write(of.to, run, converted);
      return;
    }
    for (int64_t at = run * kRun; at < (run + 1) * kRun && at < of.elements; ++at) of.to[at] = To(float(of.from[of.order.at(at)]));
  }

  void add(const Tensor& from, const Tensor& to) {
    const auto elements = static_cast<int>(elements_of(from.shape()));
    tensors[count++] = {from.as<From>(), to.as<To>(), Order(from.spec, to.spec), elements, runs};
    runs += (elements + kRun - 1) / kRun;
  }
};

// Launches for all of these tensors.
template <class From, class To> class Conversions {
 public:
  void add(const Tensor& from, const Tensor& to) {
    if (launches_.empty() || launches_.back().count == kMostTensors) launches_.emplace_back();
    launches_.back().add(from, to);
  }
  void queue(DeviceStream& stream) const {
    for (const auto& launch : launches_) each(stream, launch.runs, launch);
  }

 private:
  std::vector<Conversion<From, To>> launches_;
};

}  // namespace

MadeKernel make_reorder_together(const OperatorSpec& spec, DeviceStream& stream) {
  Conversions<float, Bf16> narrowed;
  Conversions<Bf16, float> widened;
  std::vector<MadeKernel> others;
  for (size_t i = 0; i < spec.inputs.size() && spec.inputs[i]; ++i) {
    const Tensor &from = spec.inputs[i], &to = spec.outputs.at(i);
    if (from.spec.type == Type::f32 && to.spec.type == Type::bf16)
      narrowed.add(from, to);
    else if (from.spec.type == Type::bf16 && to.spec.type == Type::f32)
      widened.add(from, to);
    else
      others.push_back(make_reorder({"reorder", spec.name, {}, {from}, {to}}, stream));
  }
  return queued([&stream, narrowed = std::move(narrowed), widened = std::move(widened), others = std::move(others)] {
    narrowed.queue(stream);
    widened.queue(stream);
    for (const MadeKernel& other : others) other->run({});
  });
}

}  // namespace arbalest::cuda
