// Group norm over (N, C, H, W): Wu and He, "Group normalization", ECCV 2018; with residual add and ReLU in the same operator. Statistics
// are those of each group of channels of one image, the variance biased.
#include <cmath>
#include <vector>

#include "cpu/reference/bounds.h"
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

// A group's elements in one image lie side by side: [first, first + count), `pixels` of each channel.
struct Group {
  int64_t first, count, pixels, channel;

  Group(const OperatorSpec& op, int64_t number) {
    const Image image(op.inputs[0].shape());
    const auto groups = static_cast<int64_t>(op.attributes.number("groups"));
    pixels = image.h * image.w;
    count = image.c / groups * pixels;
    first = number * count;
    channel = number % groups * (image.c / groups);
  }
  int64_t channel_of(int64_t i) const { return channel + (i - first) / pixels; }
};

// Groups of all images.
int64_t groups_of(const OperatorSpec& op) { return op.inputs[0].shape()[0] * static_cast<int64_t>(op.attributes.number("groups")); }

template <class T> void group_norm(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();                  // (N, C, H, W)
  const Wide<T>* gamma = op.inputs[1].as<Wide<T>>();  // (C)
  const Wide<T>* beta = op.inputs[2].as<Wide<T>>();   // (C)
  const T* residual = op.inputs[3].as<T>();           // (N, C, H, W) or null
  T* y = op.outputs[0].as<T>();                       // (N, C, H, W)
  Wide<T>* means = op.outputs[1].as<Wide<T>>();       // (N, groups) or null
  Wide<T>* inverses = op.outputs[2].as<Wide<T>>();    // (N, groups) or null
  const double epsilon = op.attributes.number("epsilon");
  const Bounds bounds(op.attributes);
  for (int64_t g = 0; g < groups_of(op); ++g) {
    const Group group(op, g);
    const int64_t end = group.first + group.count;
    double mean = 0, variance = 0;
    for (int64_t i = group.first; i < end; ++i) mean += x[i];
    mean /= static_cast<double>(group.count);
    for (int64_t i = group.first; i < end; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(group.count) + epsilon);
    if (means) means[g] = rounded<Wide<T>>(mean);
    if (inverses) inverses[g] = rounded<Wide<T>>(inverse);
    for (int64_t i = group.first; i < end; ++i) {
      const int64_t c = group.channel_of(i);
      double value = (x[i] - mean) * inverse * gamma[c] + beta[c];
      if (residual) value += residual[i];
      y[i] = rounded<T>(bounds.within(value));
    }
  }
}

// With g = (gy + gy2) masked, xhat = (x - mean) * inverse and M elements a group: ggamma = sum g * xhat and gbeta = sum g of each channel,
// gx = inverse * (g * gamma - sum(g * gamma) / M - xhat * sum(g * gamma * xhat) / M) with the sums of the group.
template <class T> void group_norm_backward(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();                     // (N, C, H, W)
  const Wide<T>* gamma = op.inputs[1].as<Wide<T>>();     // (C)
  const Wide<T>* means = op.inputs[2].as<Wide<T>>();     // (N, groups)
  const Wide<T>* inverses = op.inputs[3].as<Wide<T>>();  // (N, groups)
  const T* y = op.inputs[4].as<T>();                     // (N, C, H, W) or null without relu
  const T* gy = op.inputs[5].as<T>();                    // (N, C, H, W)
  const T* gy2 = op.inputs[6].as<T>();                   // (N, C, H, W) or null
  T* gx = op.outputs[0].as<T>();                         // (N, C, H, W) or null
  Wide<T>* ggamma = op.outputs[1].as<Wide<T>>();         // (C)
  Wide<T>* gbeta = op.outputs[2].as<Wide<T>>();          // (C)
  T* gresidual = op.outputs[3].as<T>();                  // (N, C, H, W) or null
  const Bounds bounds(op.attributes);
  const int64_t channels = op.inputs[0].shape()[1];
  std::vector<double> scales(static_cast<size_t>(channels)), shifts(static_cast<size_t>(channels));
  for (int64_t number = 0; number < groups_of(op); ++number) {
    const Group group(op, number);
    const int64_t end = group.first + group.count;
    const double mean = means[number], inverse = inverses[number];
    std::vector<double> gradients, normalised;
    double sum = 0, product = 0;
    for (int64_t i = group.first; i < end; ++i) {
      const int64_t c = group.channel_of(i);
      const double g = bounds.relu && !bounds.passes(y[i]) ? 0.0 : double{gy[i]} + (gy2 ? double{gy2[i]} : 0.0);
      const double xhat = (x[i] - mean) * inverse;
      gradients.push_back(g * gamma[c]);
      normalised.push_back(xhat);
      shifts[static_cast<size_t>(c)] += g;
      scales[static_cast<size_t>(c)] += g * xhat;
      sum += g * gamma[c];
      product += g * gamma[c] * xhat;
      if (gresidual) gresidual[i] = rounded<T>(g);
    }
    if (!gx) continue;
    const auto count = static_cast<double>(group.count);
    for (int64_t i = 0; i < group.count; ++i) {
      const auto at = static_cast<size_t>(i);
      gx[group.first + i] = rounded<T>(inverse * (gradients[at] - sum / count - normalised[at] * product / count));
    }
  }
  for (int64_t c = 0; c < channels; ++c) {
    ggamma[c] = rounded<Wide<T>>(scales[static_cast<size_t>(c)]);
    gbeta[c] = rounded<Wide<T>>(shifts[static_cast<size_t>(c)]);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"groupNorm",
       {{"x", activation}, {"gamma", wide}, {"beta", wide}, {"residual", activation, true}},
       {{"y", activation}, {"mean", wide, true}, {"inverse", wide, true}},
       check_group_norm,
       {group_norm<float>, group_norm<double>, group_norm<Bf16>},
       {{0, 0}, {0, 3}}},
      {"groupNormBackward",
       {{"x", activation},
        {"gamma", wide},
        {"mean", wide},
        {"inverse", wide},
        {"y", activation, true},
        {"gy", activation},
        {"gy2", activation, true}},
       {{"gx", activation, true}, {"ggamma", wide}, {"gbeta", wide}, {"gresidual", activation, true}},
       check_group_norm_gradient,
       {group_norm_backward<float>, group_norm_backward<double>, group_norm_backward<Bf16>},
       {{0, 5}, {3, 6}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
