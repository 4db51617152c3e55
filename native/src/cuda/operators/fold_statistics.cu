// The statistics of all samples of `count` batches of one size and of one batch more: Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", 1983. The variance stays biased and includes the differences between the means of the batches.
#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

struct FoldStatistics {
  static constexpr int kPhases = 2;
  struct Shared {};

  const float *mean, *variance;          // (C)
  float* count;                          // (1)
  float *folded_mean, *folded_variance;  // (C), in place
  int channels;

  // One block for all channels: every thread has read the count before the first one raises it.
  EVERYWHERE void run(int phase, int64_t, int thread, Shared&) const {
    if (phase == 1) {
      if (thread == 0) *count += 1;
      return;
    }
    const float before = *count, after = before + 1;
    for (int c = thread; c < channels; c += kThreads) {
      const float step = mean[c] - folded_mean[c];
      folded_mean[c] += step / after;
      folded_variance[c] = (before * folded_variance[c] + variance[c] + step * step * before / after) / after;
    }
  }
};

MadeKernel make_fold_statistics(const OperatorSpec& spec, DeviceStream& stream) {
  for (size_t i = 0; i < 3; ++i)
    if (spec.outputs[i].data != spec.inputs[i + 2].data)
      throw Error("INVALID_PROGRAM", "foldStatistics: received outputs apart from its inputs; it folds in place");
  const FoldStatistics program{spec.inputs[0].as<float>(),  spec.inputs[1].as<float>(),  spec.outputs[0].as<float>(),
                               spec.outputs[1].as<float>(), spec.outputs[2].as<float>(), static_cast<int>(spec.inputs[0].shape()[0])};
  return queued([&stream, program] { blocks(stream, 1, program); });
}

using enum Port;
const Registered kOperators{{
    {"foldStatistics", {wide, wide, wide, wide, wide}, {wide, wide, wide}, make_fold_statistics, {{0, 2}, {1, 3}, {2, 4}}},
}};

}  // namespace
}  // namespace arbalest::cuda
