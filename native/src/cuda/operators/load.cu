// Gathers a batch from a data set on the device, or takes a streamed batch: order, crop, flip and cutout by load_plan.h, then pixels
// divided by 255, minus mean, over deviation; pairs of images are mixed by mix.h. Position, seed, chosen samples and the streamed batch are
// read from the step's parameters.
#include <algorithm>

#include "core/no_class.h"
#include "cuda/device_dataset.h"
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"
#include "data/load_plan.h"
#include "data/mix.h"

namespace arbalest::cuda {
namespace {

constexpr int kMostChannels = 16;

// (x - mean) / deviation of a channel; a single entry is for all channels.
struct Normalisation {
  float mean[kMostChannels], deviation[kMostChannels];
  bool by_channel;
};

Normalisation normalisation_of(const Attributes& attributes) {
  const auto &means = attributes.list("mean"), &deviations = attributes.list("std");
  Normalisation result{};
  result.by_channel = means.size() > 1 || deviations.size() > 1;
  for (size_t c = 0; c < kMostChannels; ++c) {
    result.mean[c] = means.empty() ? 0 : static_cast<float>(means[means.size() == 1 ? 0 : std::min(c, means.size() - 1)]);
    result.deviation[c] =
        deviations.empty() ? 1 : static_cast<float>(deviations[deviations.size() == 1 ? 0 : std::min(c, deviations.size() - 1)]);
  }
  return result;
}

// The source of sample n of the batch.
EVERYWHERE LoadPlan plan_of(const LoadOptions& options, const StepParameters& step, int n) {
  const uint64_t position = step.position + static_cast<uint64_t>(n);
  const uint64_t index = step.samples ? static_cast<uint64_t>(step.samples[n]) : sample_at(options, step.seed, position);
  return load_plan(options, step.seed, position, index);
}

// A block for each slice of a sample: small batches have few samples, and a GPU has many multiprocessors. One of its threads makes the
// plan. What is mixed reads its partner as well.
template <class T, class From, bool Mixes> struct LoadSamples {
  static constexpr int kPhases = 2;
  // Elements of a thread, all of which are read before the first one is written: their reads are under way together.
  static constexpr int kOfThread = 4;
  static constexpr int kOfSlice = kOfThread * kThreads;
  struct Plan {
    int64_t index;
    int row, column, cut_top, cut_left;
    bool flip;
  };
  struct Shared {
    Plan own, partner;
    Mix mix;
  };

  const From* samples;    // (count, C, H, W), or null: those of the step's batch, in its order
  const int32_t* labels;  // (count, target_elements) or null
  const float* targets;   // (count, target_elements) or null
  bool classifies;        // whether class numbers are the data set's targets
  const StepParameters* step;
  T* x;            // (N, C, H, W), plain or nhwc
  int32_t* label;  // (N, target_elements) or null
  T* target;       // (N, target_elements) or null
  LoadOptions options;
  MixOptions mixing;
  Normalisation normalisation;
  Image image;
  int target_elements;
  bool labels_move, nhwc;

  EVERYWHERE int slices() const { return (image.h * image.w * image.c + kOfSlice - 1) / kOfSlice; }

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int slice = static_cast<int>(block % slices());
    const int64_t n = block / slices();
    if (phase == 0) {
      if (thread != 0) return;
      shared.own = plan(n);
      if constexpr (Mixes) {
        const int64_t partner = image.n - 1 - n;
        shared.partner = plan(partner);
        shared.mix = mix_of(mixing, step->seed, step->position + static_cast<uint64_t>(n < partner ? n : partner), image.h, image.w);
      }
      return;
    }
    const int pixels = image.h * image.w, elements = pixels * image.c;
    const From* const sample = sample_of(shared.own);
    const From* const partner = Mixes ? sample_of(shared.partner) : nullptr;
    float values[kOfThread] = {};
    WHOLLY_UNROLLED
    for (int own = 0; own < kOfThread; ++own) {
      const int i = slice * kOfSlice + own * kThreads + thread;
      if (i >= elements) continue;
      const int c = nhwc ? i % image.c : i / pixels, s = nhwc ? i / image.c : i % pixels;
      const int h = s / image.w, w = s % image.w;
      if constexpr (Mixes)
        values[own] = mixed(shared, sample, partner, c, h, w);
      else
        values[own] = value(sample, shared.own, c, h, w);
    }
    WHOLLY_UNROLLED
    for (int own = 0; own < kOfThread; ++own) {
      const int i = slice * kOfSlice + own * kThreads + thread;
      if (i < elements) x[n * elements + i] = T(values[own]);
    }
    if (slice != 0) return;
    for (int i = thread; i < target_elements; i += kThreads) {
      const int64_t to = n * target_elements + i;
      if (label) label[to] = label_of(labels_of(shared.own), shared.own, i);
      if (target) target[to] = T(target_of(shared, i));
    }
  }

 private:
  EVERYWHERE Plan plan(int64_t n) const {
    const LoadPlan found = plan_of(options, *step, static_cast<int>(n));
    const Cut cut(options, found, image.h, image.w);
    return {samples ? static_cast<int64_t>(found.index) : n,
            static_cast<int>(found.row),
            static_cast<int>(found.column),
            static_cast<int>(cut.top),
            static_cast<int>(cut.left),
            found.flip};
  }
  EVERYWHERE const int32_t* labels_of(const Plan& plan) const { return (samples ? labels : step->labels) + plan.index * target_elements; }
  EVERYWHERE float target_of(const Shared& shared, int i) const {
    if constexpr (Mixes)
      return shared.mix.own * target_of(shared.own, i) + (1 - shared.mix.own) * target_of(shared.partner, i);
    else
      return target_of(shared.own, i);
  }
  // Class numbers become shares of classes, which can be mixed.
  EVERYWHERE float target_of(const Plan& plan, int i) const {
    if (!classifies) return (samples ? targets : step->targets)[plan.index * target_elements + i];
    return (samples ? labels : step->labels)[plan.index] == i ? 1.0f : 0.0f;
  }
  // The labels of an image's pixels move with them; a border of zeros and what is cut out have none.
  EVERYWHERE int32_t label_of(const int32_t* own, const Plan& plan, int i) const {
    if (!labels_move) return own[i];
    const int at = source(plan, i / image.w, i % image.w);
    return at < 0 || is_cut(plan, i / image.w, i % image.w) ? kNoClass : own[at];
  }
  // As Cut::has, in numbers of 32 bits.
  EVERYWHERE bool is_cut(const Plan& plan, int h, int w) const {
    const int side = static_cast<int>(options.cutout);
    return h >= plan.cut_top && h < plan.cut_top + side && w >= plan.cut_left && w < plan.cut_left + side;
  }
  // As source_pixel, in numbers of 32 bits.
  EVERYWHERE int source(const Plan& plan, int h, int w) const {
    int row = h + plan.row, column = (plan.flip ? image.w - 1 - w : w) + plan.column;
    if (options.border == Border::reflect) {
      row = static_cast<int>(reflected(row, image.h));
      column = static_cast<int>(reflected(column, image.w));
    }
    return row >= 0 && row < image.h && column >= 0 && column < image.w ? row * image.w + column : -1;
  }
  EVERYWHERE const From* sample_of(const Plan& plan) const {
    return (samples ? samples : static_cast<const From*>(step->batch)) + plan.index * (image.h * image.w * image.c);
  }
  EVERYWHERE float mixed(const Shared& shared, const From* sample, const From* partner, int c, int h, int w) const {
    const Mix& mix = shared.mix;
    if (mix.takes(h, w)) return value(partner, shared.partner, c, h, w);
    const float own = value(sample, shared.own, c, h, w);
    return mix.blends ? mix.own * own + (1 - mix.own) * value(partner, shared.partner, c, h, w) : own;
  }
  EVERYWHERE float value(const From* sample, const Plan& plan, int c, int h, int w) const {
    if (is_cut(plan, h, w)) return 0;
    const int at = source(plan, h, w);
    const float pixel = at < 0 ? 0.0f : read(c * image.h * image.w + at, sample);
    const int channel = normalisation.by_channel ? c : 0;
    return (pixel - normalisation.mean[channel]) / normalisation.deviation[channel];
  }
  EVERYWHERE static float read(int at, const uint8_t* sample) { return static_cast<float>(sample[at]) / 255.0f; }
  EVERYWHERE static float read(int at, const float* sample) { return sample[at]; }
};

// Token ids: separate samples, or windows of one long row by token_windows.h.
struct LoadTokens {
  const int32_t* tokens;
  const int32_t* labels;  // (count, labels_of_sample) or null
  int32_t *x, *target;    // (N, T); (N, T) for windows, (N, labels_of_sample) for labels, or null
  const StepParameters* step;
  LoadOptions options;
  int64_t stride;   // 0: samples of their own
  uint64_t shifts;  // the number of possible moves of an epoch's windows
  int length, samples, labels_of_sample;

  EVERYWHERE void operator()(int64_t i) const {
    const int n = static_cast<int>(i / length), at = static_cast<int>(i % length);
    const uint64_t position = step->position + static_cast<uint64_t>(n);
    const auto index = static_cast<int64_t>(plan_of(options, *step, n).index);
    const uint64_t shift = stride != 0 && options.shuffled ? (philox(step->seed, position / options.count, kWindows)[0] * shifts) >> 32 : 0;
    const int64_t first = stride == 0 ? index * length : index * stride + static_cast<int64_t>(shift);
    x[i] = tokens[first + at];
    if (!target) return;
    if (stride != 0) {
      target[i] = tokens[first + at + 1];
      return;
    }
    for (int each = at; each < labels_of_sample; each += length)
      target[n * labels_of_sample + each] = labels[index * labels_of_sample + each];
  }
};

MadeKernel load_tokens(const OperatorSpec& spec, const Dataset& data, const std::shared_ptr<const DeviceDataset>& on_device,
                       const LoadOptions& options, DeviceStream& stream) {
  const int64_t length = elements_of(data.sample), spare = data.tokens() - 1 - length - (data.count - 1) * data.stride;
  const LoadTokens program{static_cast<const int32_t*>(on_device->samples),
                           on_device->labels,
                           spec.outputs[0].as<int32_t>(),
                           spec.outputs[1].as<int32_t>(),
                           stream.parameters(),
                           options,
                           data.stride,
                           static_cast<uint64_t>(std::min(data.stride, spare + 1)),
                           static_cast<int>(length),
                           static_cast<int>(spec.outputs[0].shape()[0]),
                           static_cast<int>(data.labels_of_sample())};
  return queued([&stream, on_device, program] { each(stream, int64_t{program.samples} * program.length, program); });
}

void check(const OperatorSpec& spec, const Dataset& data) {
  if (const auto channels = std::max(spec.attributes.list("mean").size(), spec.attributes.list("std").size()); channels > kMostChannels)
    throw Error("INVALID_PROGRAM", "load: received means of " + std::to_string(channels) + " channels; the cuda backend takes up to " +
                                       std::to_string(kMostChannels));
  if ((spec.outputs[0].spec.type == Type::i32) != (data.sample_type == Type::i32))
    throw Error("SHAPE_MISMATCH", "load: received samples of another kind; a program takes either numbers or token ids");
  if (!spec.outputs[1]) return;
  const Shape& target = spec.outputs[1].shape();
  const bool classes = spec.outputs[1].spec.type == Type::i32;
  const int64_t each = classes ? data.labels_of_sample() : elements_of(data.target);
  if (mix_options(spec.attributes).any()) {
    if (classes)
      throw Error("INVALID_PROGRAM", "load: received class numbers as the target of images that are mixed; take shares of classes (N, K)");
    if (data.classifies() && data.labels_of_sample() == 1 && data.classes <= elements_of(target) / target[0]) return;
  }
  if (classes != data.classifies() || each != elements_of(target) / target[0])
    throw Error("SHAPE_MISMATCH", "load: the data set's targets are not what the program takes; compile it for this data set");
}

template <class T, bool Mixes>
MadeKernel load_samples(const OperatorSpec& spec, const Dataset& data, const std::shared_ptr<const DeviceDataset>& on_device,
                        const LoadOptions& options, DeviceStream& stream) {
  const Tensor& target = spec.outputs[1];
  const bool numbers = target && target.spec.type == Type::i32;
  const auto make = [&]<class From>(const From* samples) {
    const LoadSamples<T, From, Mixes> program{
        samples,
        on_device->labels,
        on_device->targets,
        data.classifies(),
        stream.parameters(),
        spec.outputs[0].as<T>(),
        numbers ? target.as<int32_t>() : nullptr,
        numbers ? nullptr : target.as<T>(),
        options,
        mix_options(spec.attributes),
        normalisation_of(spec.attributes),
        Image(spec.outputs[0].shape()),
        target ? static_cast<int>(elements_of(target.shape()) / target.shape()[0]) : 0,
        data.labels_move(),
        spec.outputs[0].spec.layout == kNhwc,
    };
    return queued([&stream, on_device, program] { blocks(stream, int64_t{program.image.n} * program.slices(), program); });
  };
  return data.sample_type == Type::u8 ? make(static_cast<const uint8_t*>(on_device->samples))
                                      : make(static_cast<const float*>(on_device->samples));
}

MadeKernel make_load(const OperatorSpec& spec, DeviceStream& stream) {
  if (!spec.dataset) throw Error("INVALID_STATE", "load: received no dataset; bind the program together with one");
  const Dataset& data = *spec.dataset;
  check(spec, data);
  const auto on_device = data.streams() ? std::make_shared<const DeviceDataset>() : device_dataset(data, stream);
  LoadOptions options = load_options(spec.attributes, data.streams() ? 1 : data.count);
  // The order of what streams is given.
  if (data.streams()) options.shuffled = false;
  if (data.sample_type == Type::i32) return load_tokens(spec, data, on_device, options, stream);
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    return mix_options(spec.attributes).any() ? load_samples<T, true>(spec, data, on_device, options, stream)
                                              : load_samples<T, false>(spec, data, on_device, options, stream);
  });
}

using enum Port;
const Registered kOperators{{
    {"load", {}, {image, target}, make_load},
}};

}  // namespace
}  // namespace arbalest::cuda
