// Several tensors in another layout or element type. Weights that go from f32 to bf16, as they do in every step, take one launch for as
// many as its arguments hold: a table by value, each thread some neighbouring elements of one of them.
#include "../launch.h"
#include "order.h"
#include "queued.h"

namespace arbalest::cuda {
namespace {

constexpr int kRun = kWidest<Bf16>;

struct Narrowed {
  const float* from = nullptr;
  Bf16* to = nullptr;
  Order order;
  int elements = 0;
  int first = 0;  // of its runs among all of the table
};

// A launch's arguments have at least 4 KiB.
constexpr int kMostTensors = 96;

struct Narrowing {
  Narrowed tensors[kMostTensors];
  int count = 0, runs = 0;

  EVERYWHERE void operator()(int64_t i) const {
    const Narrowed& of = tensor_of(static_cast<int>(i));
    const int64_t run = i - of.first;
    if (of.order.same() && (run + 1) * kRun <= of.elements) {
      const Pack<float, kRun> values = read<float, kRun>(of.from, run);
      Pack<Bf16, kRun> narrow;
      for (int v = 0; v < kRun; ++v) narrow.at[v] = Bf16(values.at[v]);
      write(of.to, run, narrow);
      return;
    }
    for (int64_t at = run * kRun; at < (run + 1) * kRun && at < of.elements; ++at) of.to[at] = Bf16(of.from[of.order.at(at)]);
  }

  void add(const Tensor& from, const Tensor& to) {
    const auto elements = static_cast<int>(elements_of(from.shape()));
    tensors[count++] = {from.as<float>(), to.as<Bf16>(), Order(from.spec, to.spec), elements, runs};
    runs += (elements + kRun - 1) / kRun;
  }

 private:
  // The last whose runs begin at or before this one.
  EVERYWHERE const Narrowed& tensor_of(int run) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (tensors[middle].first <= run)
        low = middle;
      else
        high = middle - 1;
    }
    return tensors[low];
  }
};

}  // namespace

MadeKernel make_reorder_together(const OperatorSpec& spec, DeviceStream& stream) {
  std::vector<Narrowing> launches;
  std::vector<MadeKernel> others;
  for (size_t i = 0; i < spec.inputs.size() && spec.inputs[i]; ++i) {
    const Tensor &from = spec.inputs[i], &to = spec.outputs.at(i);
    if (from.spec.type != Type::f32 || to.spec.type != Type::bf16) {
      others.push_back(make_reorder({"reorder", spec.name, {}, {from}, {to}}, stream));
      continue;
    }
    if (launches.empty() || launches.back().count == kMostTensors) launches.emplace_back();
    launches.back().add(from, to);
  }
  return queued([&stream, launches = std::move(launches), others = std::move(others)] {
    for (const Narrowing& launch : launches) each(stream, launch.runs, launch);
    for (const MadeKernel& other : others) other->run({});
  });
}

}  // namespace arbalest::cuda
