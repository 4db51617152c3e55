// Gathers a batch straight from the dataset into its layout: order, crop, flip and cutout by load_plan.h, then pixels divided by 255 (where
// they are bytes), minus mean, over deviation; pairs of images are mixed by mix.h. Token ids are gathered as they are, by token_windows.h.
#include <algorithm>

#include "core/no_class.h"
#include "cpu/kernels/activation.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/load_check.h"
#include "data/load_plan.h"
#include "data/mix.h"
#include "data/token_windows.h"

namespace arbalest::kernels {
namespace {

// value = pixel * scale + shift, of one channel.
struct Normalisation {
  float scale, shift;
};

std::vector<Normalisation> normalisations_of(const Attributes& attributes, int64_t channels, double unit) {
  const auto value = [](const std::vector<double>& values, int64_t channel, double otherwise) {
    return values.empty() ? otherwise : values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
  };
  std::vector<Normalisation> all;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const double mean = value(attributes.list("mean"), channel, 0), deviation = value(attributes.list("std"), channel, 1);
    all.push_back({static_cast<float>(unit / deviation), static_cast<float>(-mean / deviation)});
  }
  return all;
}

template <class T> class Load final : public Kernel {
 public:
  explicit Load(const OperatorSpec& spec)
      : shape_(spec.outputs[0].shape()),
        x_(output<T>(spec, 0)),
        bytes_(normalisations_of(spec.attributes, shape_[1], 1.0 / 255)),
        floats_(normalisations_of(spec.attributes, shape_[1], 1)),
        options_(load_options(spec.attributes, 1)),
        mixing_(mix_options(spec.attributes)),
        plans_(static_cast<size_t>(shape_[0])) {
    if (spec.outputs.size() > 1) target_ = spec.outputs[1];
    if (mixing_.any() && target_ && target_.spec.type == Type::i32)
      throw Error("INVALID_PROGRAM", "load: received class numbers as the target of images that are mixed; take shares of classes (N, K)");
    if (spec.outputs[0].spec.type == Type::i32) tokens_ = spec.outputs[0].as<int32_t>();
    // Other samples than images are images of one pixel: (N, F, 1, 1).
    view_.images = shape_[0];
    if (shape_.size() == 4) {
      view_ = activation_of(spec.outputs[0].spec);
    } else {
      view_.channels = view_.blocks = elements_of(shape_) / shape_[0];
      uniform_ = shape_.size() == 2 && (bytes_.size() == 1 || same_for_all());
    }
  }

  void run(const StepContext& step) override {
    const Dataset& data = checked(step);
    LoadOptions options = options_;
    options.count = static_cast<uint64_t>(data.count);
    // Samples lie anywhere in the dataset: all of them are on their way before the first is read.
    for (size_t sample = 0; sample < plans_.size(); ++sample) {
      const uint64_t position = step.position + sample;
      const uint64_t index = step.samples.empty() ? sample_at(options, step.seed, position) : static_cast<uint64_t>(step.samples[sample]);
      plans_[sample] = load_plan(options, step.seed, position, index);
      if (!tokens_) fetch(data, plans_[sample].index);
    }
    for_each(view_.images, view_.elements(), [&](int64_t sample) {
      const LoadPlan& plan = plans_[static_cast<size_t>(sample)];
      if (tokens_)
        load_tokens(
            data, sample,
            first_token(data, options.shuffled, step.seed, (step.position + static_cast<uint64_t>(sample)) / options.count, plan.index));
      else if (data.sample_type == Type::u8)
        load_sample(data.samples.data(), bytes_, sample, plan);
      else
        load_sample(reinterpret_cast<const float*>(data.samples.data()), floats_, sample, plan);
      if (options_.cutout > 0) cut_out(sample, Cut(options_, plan, view_.height, view_.width));
      if (target_ && data.stride == 0) load_target(data, sample, plan);
    });
    if (mixing_.any()) for_each(view_.images / 2, view_.elements(), [&](int64_t sample) { mix_pair(step, sample); });
  }

 private:
  // Checks everything before other threads are woken.
  const Dataset& checked(const StepContext& step) const {
    if (!step.dataset) throw Error("INVALID_STATE", "load: received no dataset; bind the program together with one");
    const Dataset& data = *step.dataset;
    if (Shape(shape_.begin() + 1, shape_.end()) != data.sample) {
      throw Error("SHAPE_MISMATCH",
                  "load: received samples of shape " + shown(data.sample) + "; the program takes batches of " + shown(shape_));
    }
    if ((tokens_ != nullptr) != (data.sample_type == Type::i32)) {
      throw Error("SHAPE_MISMATCH", "load: received samples of another kind; a program takes either numbers or token ids");
    }
    if (!target_) return data;
    const int64_t each = data.labels_of_sample(), elements = elements_of(target_.shape()) / target_.shape()[0];
    if (mixing_.any() && data.classifies()) {
      if (each == 1 && data.classes <= elements) return data;
      throw Error("SHAPE_MISMATCH", "load: received " + std::to_string(each) + " class numbers a sample, of " +
                                        std::to_string(data.classes) + " classes; the program takes one, of " + std::to_string(elements));
    }
    if (target_.spec.type == Type::i32 && elements_of(target_.shape()) != each * target_.shape()[0]) {
      throw Error("SHAPE_MISMATCH", "load: received " + std::to_string(each) + " class numbers a sample; the program takes batches of " +
                                        shown(target_.shape()));
    }
    if (target_.spec.type == Type::i32) {
      if (!data.classifies()) throw Error("SHAPE_MISMATCH", "load: received a dataset without labels; the program takes class numbers");
    } else if (data.classifies() || elements_of(data.target) != elements) {
      throw Error("SHAPE_MISMATCH",
                  "load: received targets of shape " + shown(data.target) + "; the program takes batches of " + shown(target_.shape()));
    }
    return data;
  }

  // The first page of a sample: what follows in a large one, the processor fetches by itself.
  static void fetch(const Dataset& data, uint64_t index) {
    constexpr size_t kLine = 64, kPage = 4096;
    const size_t bytes = static_cast<size_t>(elements_of(data.sample)) * size_of(data.sample_type);
    const auto* const sample = reinterpret_cast<const char*>(data.samples.data()) + index * bytes;
    for (size_t at = 0; at < std::min(bytes, kPage); at += kLine) __builtin_prefetch(sample + at);
  }

  // A sample and, for windows of tokens, its target.
  void load_tokens(const Dataset& data, int64_t sample, int64_t first) const {
    const int64_t length = elements_of(data.sample);
    const auto* tokens = reinterpret_cast<const int32_t*>(data.samples.data()) + first;
    std::copy_n(tokens, length, tokens_ + sample * length);
    if (data.stride != 0 && target_) std::copy_n(tokens + 1, length, target_.as<int32_t>() + sample * length);
  }

  template <class Pixel>
  void load_sample(const Pixel* samples, const std::vector<Normalisation>& by, int64_t sample, const LoadPlan& plan) const {
    const Pixel* image = samples + static_cast<int64_t>(plan.index) * view_.channels * view_.pixels();
    T* x = x_ + view_.offset(sample, 0);
    if (shape_.size() != 4) {
      load_features(image, by, x);
      return;
    }
    if (view_.blocks * view_.lanes > view_.channels) {
      std::memset(static_cast<void*>(x + (view_.blocks - 1) * view_.plane()), 0, static_cast<size_t>(view_.plane()) * sizeof(T));
    }
    for (int64_t channel = 0; channel < view_.channels; ++channel) {
      const Pixel* plane = image + channel * view_.pixels();
      T* to = x + view_.channel_offset(channel);
      if (view_.lanes == 1)
        load_plane<1>(plane, by[channel], plan, to);
      else
        load_plane<0>(plane, by[channel], plan, to);
    }
  }

  void cut_out(int64_t sample, const Cut& cut) const {
    const int64_t top = std::max<int64_t>(0, cut.top), bottom = std::min(view_.height, cut.top + cut.side);
    const int64_t left = std::max<int64_t>(0, cut.left), right = std::min(view_.width, cut.left + cut.side);
    for (int64_t channel = 0; channel < view_.channels; ++channel) {
      T* const plane = x_ + view_.offset(sample, 0) + view_.channel_offset(channel);
      for (int64_t h = top; h < bottom; ++h)
        for (int64_t w = left; w < right; ++w) plane[(h * view_.width + w) * view_.lanes] = T{};
    }
  }

  // Images n and N - 1 - n, and their targets.
  void mix_pair(const StepContext& step, int64_t n) const {
    const int64_t partner = view_.images - 1 - n, elements = view_.blocks * view_.plane();
    const Mix mix =
        mix_of(mixing_, step.seed, step.position + static_cast<uint64_t>(n), static_cast<int>(view_.height), static_cast<int>(view_.width));
    T *a = x_ + n * elements, *b = x_ + partner * elements;
    if (mix.blends) blend(a, b, elements, mix.own);
    for (int64_t channel = 0; channel < view_.channels; ++channel) {
      const int64_t plane = view_.channel_offset(channel);
      for (int64_t h = mix.top; h < mix.bottom; ++h)
        for (int64_t w = mix.left; w < mix.right; ++w) {
          const int64_t at = plane + (h * view_.width + w) * view_.lanes;
          std::swap(a[at], b[at]);
        }
    }
    if (!target_) return;
    const int64_t targets = elements_of(target_.shape()) / view_.images;
    blend(target_.as<T>() + n * targets, target_.as<T>() + partner * targets, targets, mix.own);
  }

  static void blend(T* a, T* b, int64_t elements, float own) {
    for_each_register(0, elements, [&]<bool Partial>(int64_t at, int width) {
      const Floats first = load<Partial>(a + at, width), second = load<Partial>(b + at, width);
      store<Partial>(a + at, first * own + second * (1 - own), width);
      store<Partial>(b + at, second * own + first * (1 - own), width);
    });
  }

  template <class Pixel> void load_features(const Pixel* from, const std::vector<Normalisation>& by, T* to) const {
    if (uniform_) return normalise(from, view_.channels, by.front(), to);
    const int64_t inner = view_.channels / static_cast<int64_t>(by.size());
    for (const Normalisation& each : by) {
      normalise(from, inner, each, to);
      from += inner;
      to += inner;
    }
  }

  // One channel; `Step` is the distance of two pixels of the result if it is known.
  template <int Step, class Pixel> void load_plane(const Pixel* from, Normalisation by, const LoadPlan& plan, T* to) const {
    const int64_t step = Step ? Step : view_.lanes, height = view_.height, width = view_.width;
    if (Step == 1 && plan.row == 0 && plan.column == 0 && !plan.flip) return normalise(from, view_.pixels(), by, to);
    const T zero = from_float<T>(by.shift);
    const bool reflects = options_.border == Border::reflect;
    // Result pixel w is source pixel w + column, or mirrored first; inside of the image for w in [first, last).
    const int64_t shift = plan.flip ? width - 1 + plan.column : plan.column;
    const int64_t first = plan.flip ? std::max<int64_t>(0, shift - width + 1) : std::max<int64_t>(0, -shift);
    const int64_t last = plan.flip ? std::min(width, shift + 1) : std::min(width, width - shift);
    for (int64_t h = 0; h < height; ++h, to += width * step) {
      const int64_t row = reflects ? reflected(h + plan.row, height) : h + plan.row;
      if (row < 0 || row >= height || first >= last) {
        for (int64_t w = 0; w < width; ++w) to[w * step] = zero;
        continue;
      }
      const Pixel* in = from + row * width + shift;
      const auto outside = [&](int64_t w) {
        return reflects ? normalised(from[row * width + reflected(shift + (plan.flip ? -w : w), width)], by) : zero;
      };
      for (int64_t w = 0; w < first; ++w) to[w * step] = outside(w);
      if (plan.flip) {
        for (int64_t w = first; w < last; ++w) to[w * step] = normalised(in[-w], by);
      } else if (Step == 1) {
        normalise(in + first, last - first, by, to + first);
      } else {
        for (int64_t w = first; w < last; ++w) to[w * step] = normalised(in[w], by);
      }
      for (int64_t w = last; w < width; ++w) to[w * step] = outside(w);
    }
  }

  template <class Pixel> static void normalise(const Pixel* from, int64_t pixels, Normalisation by, T* to) {
    for_each_register(0, pixels, [&]<bool Partial>(int64_t at, int width) {
      const Floats values = __builtin_convertvector(load<Partial>(from + at, width), Floats);
      store<Partial>(to + at, values * by.scale + by.shift, width);
    });
  }

  template <class Pixel> static T normalised(Pixel pixel, Normalisation by) {
    return from_float<T>(static_cast<float>(pixel) * by.scale + by.shift);
  }

  void load_target(const Dataset& data, int64_t sample, const LoadPlan& plan) const {
    if (target_.spec.type == Type::i32) {
      load_labels(data, sample, plan);
      return;
    }
    const int64_t elements = elements_of(target_.shape()) / target_.shape()[0];
    if (data.classifies()) {  // as shares of classes, which can be mixed
      T* const to = target_.as<T>() + sample * elements;
      std::fill_n(to, elements, T{});
      to[data.labels[plan.index]] = from_float<T>(1);
      return;
    }
    const float* from = data.targets.data() + static_cast<int64_t>(plan.index) * elements;
    for (int64_t e = 0; e < elements; ++e) target_.as<T>()[sample * elements + e] = from_float<T>(from[e]);
  }

  // The labels of an image's pixels move with them; a border of zeros and what is cut out have none.
  void load_labels(const Dataset& data, int64_t sample, const LoadPlan& plan) const {
    const int64_t each = data.labels_of_sample();
    const int32_t* from = data.labels.data() + static_cast<int64_t>(plan.index) * each;
    int32_t* to = target_.as<int32_t>() + sample * each;
    if (!data.labels_move() || (plan.row == 0 && plan.column == 0 && !plan.flip && options_.cutout == 0)) {
      std::copy_n(from, each, to);
      return;
    }
    const int64_t height = data.label[0], width = data.label[1];
    const Cut cut(options_, plan, height, width);
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x, ++to) {
        const int64_t pixel = source_pixel(plan, options_.border, height, width, y, x);
        *to = pixel < 0 || cut.has(y, x) ? kNoClass : from[pixel];
      }
  }

  bool same_for_all() const {
    return std::all_of(bytes_.begin(), bytes_.end(),
                       [&](const Normalisation& by) { return by.scale == bytes_[0].scale && by.shift == bytes_[0].shift; });
  }

  const Shape shape_;  // (N, C, H, W) or (N, F)
  Activation view_;
  T* x_;
  int32_t* tokens_ = nullptr;  // (N, T) instead of x where the program takes tokens
  Tensor target_;
  const std::vector<Normalisation> bytes_, floats_;  // (C) for either type of samples
  bool uniform_ = false;                             // one rule for all features
  const LoadOptions options_;                        // but for the number of samples, which a step's data set has
  const MixOptions mixing_;
  std::vector<LoadPlan> plans_;  // of the batch
};

std::vector<Operator> operators() {
  return {{"load", {}, {{"x", Role::sample}, {"target", Role::target, true}}, check_load<Shapes>, make_typed<Load>}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
