// Gathers a batch from the dataset: order, crop, flip and cutout by load_plan.h, then pixels divided by 255, minus mean, over deviation;
// pairs of images are mixed by mix.h. Token ids are gathered as they are, by token_windows.h.
#include "core/no_class.h"
#include "cpu/load_check.h"
#include "cpu/reference/operator.h"
#include "data/load_plan.h"
#include "data/mix.h"
#include "data/token_windows.h"

namespace arbalest::reference {
namespace {

double channel_value(const std::vector<double>& values, int64_t channel, double otherwise) {
  return values.empty() ? otherwise : values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
}

const Dataset& dataset_of(const OperatorSpec& op, const StepContext& step) {
  if (!step.dataset) throw Error("INVALID_STATE", "load: received no dataset; bind the program together with one");
  const Shape &x = op.outputs[0].shape(), &sample = step.dataset->sample;
  if (Shape(x.begin() + 1, x.end()) != sample) {
    throw Error("SHAPE_MISMATCH", "load: received samples of shape " + shown(sample) + "; the program takes batches of " + shown(x));
  }
  if ((op.outputs[0].spec.type == Type::i32) != (step.dataset->sample_type == Type::i32)) {
    throw Error("SHAPE_MISMATCH", "load: received samples of another kind; a program takes either numbers or token ids");
  }
  return *step.dataset;
}

// Sample n of the batch and, for windows of tokens, its target.
void load_tokens(const OperatorSpec& op, const Dataset& data, int64_t n, int64_t first) {
  const int64_t length = elements_of(data.sample);
  const auto* tokens = reinterpret_cast<const int32_t*>(data.samples.data()) + first;
  std::copy_n(tokens, length, op.outputs[0].as<int32_t>() + n * length);
  if (data.stride != 0 && op.outputs[1]) std::copy_n(tokens + 1, length, op.outputs[1].as<int32_t>() + n * length);
}

// The labels of an image's pixels move with them; a border of zeros and what is cut out have none.
void load_labels(int32_t* to, const Dataset& data, const LoadPlan& plan, const LoadOptions& options) {
  const int64_t each = data.labels_of_sample();
  const int32_t* from = data.labels.data() + static_cast<int64_t>(plan.index) * each;
  if (!data.labels_move()) {
    std::copy_n(from, each, to);
    return;
  }
  const int64_t height = data.label[0], width = data.label[1];
  for (int64_t i = 0; i < each; ++i) {
    const int64_t pixel = source_pixel(plan, options.border, height, width, i / width, i % width);
    to[i] = pixel < 0 || Cut(options, plan, height, width).has(i / width, i % width) ? kNoClass : from[pixel];
  }
}

// The class of sample `index` as shares of all classes, which can be mixed.
template <class T> void load_shares(T* to, int64_t classes, const Dataset& data, uint64_t index) {
  if (data.labels_of_sample() != 1 || data.classes > classes) {
    throw Error("SHAPE_MISMATCH", "load: received " + std::to_string(data.labels_of_sample()) + " class numbers a sample, of " +
                                      std::to_string(data.classes) + " classes; the program takes one, of " + std::to_string(classes));
  }
  std::fill_n(to, classes, T{});
  to[data.labels[index]] = T{1};
}

// The target of the sample of a plan as row n of the batch.
template <class T>
void load_target(const Tensor& target, const Dataset& data, int64_t n, const LoadPlan& plan, const LoadOptions& options, bool mixes) {
  const int64_t each = data.labels_of_sample();
  if (target.spec.type == Type::i32 && elements_of(target.shape()) != each * target.shape()[0]) {
    throw Error("SHAPE_MISMATCH", "load: received " + std::to_string(each) + " class numbers a sample; the program takes batches of " +
                                      shown(target.shape()));
  }
  if (data.stride != 0) return;  // a window is its own target
  if (target.spec.type == Type::i32) {
    if (!data.classifies()) throw Error("SHAPE_MISMATCH", "load: received a dataset without labels; the program takes class numbers");
    load_labels(target.as<int32_t>() + n * each, data, plan, options);
    return;
  }
  const int64_t elements = elements_of(target.shape()) / target.shape()[0];
  if (mixes && data.classifies()) return load_shares(target.as<T>() + n * elements, elements, data, plan.index);
  if (data.classifies() || elements_of(data.target) != elements) {
    throw Error("SHAPE_MISMATCH",
                "load: received targets of shape " + shown(data.target) + "; the program takes batches of " + shown(target.shape()));
  }
  const auto first = static_cast<int64_t>(plan.index) * elements;
  for (int64_t e = 0; e < elements; ++e) target.as<T>()[n * elements + e] = rounded<T>(data.targets[static_cast<size_t>(first + e)]);
}

// Mixes images n and N - 1 - n of (N, C, H, W) and, where there are some, their targets (N, F).
template <class T> void mix_pair(const Image& image, T* x, T* targets, int64_t elements, int64_t n, const Mix& mix) {
  const int64_t partner = image.n - 1 - n;
  const auto blend = [&](T& a, T& b) {
    const double first = a, second = b, own = mix.own;
    a = rounded<T>(own * first + (1 - own) * second);
    b = rounded<T>(own * second + (1 - own) * first);
  };
  for (int64_t c = 0; c < image.c; ++c) {
    for (int64_t h = 0; h < image.h; ++h) {
      for (int64_t w = 0; w < image.w; ++w) {
        T &a = x[image.at(n, c, h, w)], &b = x[image.at(partner, c, h, w)];
        if (mix.blends) blend(a, b);
        if (mix.takes(h, w)) std::swap(a, b);
      }
    }
  }
  for (int64_t e = 0; targets && e < elements; ++e) blend(targets[n * elements + e], targets[partner * elements + e]);
}

template <class T> void load(const OperatorSpec& op, const StepContext& step) {
  const Dataset& data = dataset_of(op, step);
  Shape extents = op.outputs[0].shape();
  extents.resize(4, 1);
  const Image image(extents);
  T* x = op.outputs[0].as<T>();  // (N, C, H, W) or (N, F)
  const std::vector<double>&means = op.attributes.list("mean"), &deviations = op.attributes.list("std");
  const LoadOptions options = load_options(op.attributes, data.count);
  const MixOptions mixing = mix_options(op.attributes);
  if (mixing.any() && op.outputs[1] && op.outputs[1].spec.type == Type::i32)
    throw Error("INVALID_PROGRAM", "load: received class numbers as the target of images that are mixed; take shares of classes (N, K)");
  const bool tokens = data.sample_type == Type::i32;
  for (int64_t n = 0; n < image.n; ++n) {
    const uint64_t position = step.position + static_cast<uint64_t>(n);
    const uint64_t index =
        step.samples.empty() ? sample_at(options, step.seed, position) : static_cast<uint64_t>(step.samples[static_cast<size_t>(n)]);
    const LoadPlan plan = load_plan(options, step.seed, position, index);
    if (tokens) {
      const uint64_t epoch = position / options.count;
      load_tokens(op, data, n, first_token(data, options.shuffled, step.seed, epoch, plan.index));
    }
    for (int64_t c = 0; c < (tokens ? 0 : image.c); ++c) {
      const double mean = channel_value(means, c, 0), deviation = channel_value(deviations, c, 1);
      for (int64_t h = 0; h < image.h; ++h) {
        for (int64_t w = 0; w < image.w; ++w) {
          const int64_t source = source_pixel(plan, options.border, image.h, image.w, h, w);
          double pixel = 0;
          if (source >= 0) {
            const auto at = static_cast<size_t>(image.at(static_cast<int64_t>(plan.index), c, 0, 0) + source);
            pixel = data.sample_type == Type::u8 ? data.samples[at] / 255.0 : reinterpret_cast<const float*>(data.samples.data())[at];
          }
          const bool cut = Cut(options, plan, image.h, image.w).has(h, w);
          x[image.at(n, c, h, w)] = rounded<T>(cut ? 0 : (pixel - mean) / deviation);
        }
      }
    }
    if (op.outputs[1]) load_target<T>(op.outputs[1], data, n, plan, options, mixing.any());
  }
  if (!mixing.any()) return;
  const Tensor& target = op.outputs[1];
  for (int64_t n = 0; n < image.n / 2; ++n) {
    const Mix mix =
        mix_of(mixing, step.seed, step.position + static_cast<uint64_t>(n), static_cast<int>(image.h), static_cast<int>(image.w));
    mix_pair(image, x, target ? target.as<T>() : nullptr, target ? elements_of(target.shape()) / image.n : 0, n, mix);
  }
}

std::vector<Operator> operators() {
  return {
      {"load", {}, {{"x", Role::target}, {"target", Role::target, true}}, check_load<Request>, {load<float>, load<double>, load<Bf16>}}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
