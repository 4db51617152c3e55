// y = x * mask / (1 - rate), with the mask of dropout_mask.h, of elements or, for stochastic depth, of whole samples; the gradient is the
// same operator.
#include <bit>
#include <cmath>

#include "core/dropout_mask.h"
#include "cpu/kernels/activation.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

// philox() of random.h for `kLanes` consecutive streams that differ in their low word only: word i of each stream in words[i].
struct PhiloxLanes {
  Words words[4];

  PhiloxLanes(uint64_t key, uint64_t counter, uint64_t stream) {
    const auto low = [](uint64_t value) { return Words{} + static_cast<uint32_t>(value); };
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    Words c0 = low(counter), c1 = low(counter >> 32), c2 = low(stream) + reinterpret_cast<Words>(lane_numbers()), c3 = low(stream >> 32);
    for (int round = 0; round < 10; ++round) {
      const Products32 a = multiply(c0, 0xD2511F53u), b = multiply(c2, 0xCD9E8D57u);
      c0 = b.high ^ c1 ^ k0;
      c1 = b.low;
      c2 = a.high ^ c3 ^ k1;
      c3 = a.low;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
  }
};

// Lane i of rows[i / kLanes] becomes lane i / 4 of what was rows[i % 4]: what four words of each stream say, stream by stream.
inline void interleave(Ints (&rows)[4]) {
  constexpr int kHalf = kLanes / 2;
  // Lanes of two registers in turns, `run` of each: of their lower halves, and of their upper ones.
  const auto in_turns = [](Ints& a, Ints& b, int run) {
    Ints lower, upper;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int from = lane / (2 * run) * run + lane % run + (lane / run % 2 ? kLanes : 0);
      lower[lane] = from;
      upper[lane] = from + kHalf;
    }
    const Ints first = __builtin_shuffle(a, b, lower);
    b = __builtin_shuffle(a, b, upper);
    a = first;
  };
  in_turns(rows[0], rows[1], 1);
  in_turns(rows[2], rows[3], 1);
  in_turns(rows[0], rows[2], 2);
  in_turns(rows[1], rows[3], 2);
  std::swap(rows[1], rows[2]);
}

template <class T> class Dropout final : public Kernel {
 public:
  explicit Dropout(const OperatorSpec& spec)
      : shape_(spec.inputs[0].shape()),
        elements_(elements_of(shape_) / shape_[0]),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)),
        stream_((kFirstOperator + static_cast<uint64_t>(spec.attributes.number("stream"))) << 32),
        // uniform(r) >= rate, on the 24 bits that uniform() uses.
        least_(static_cast<uint32_t>(std::ceil(static_cast<double>(static_cast<float>(spec.attributes.number("rate"))) * 0x1p24))),
        scale_(static_cast<float>(1 / (1 - spec.attributes.number("rate")))) {
    if (spec.inputs[0].spec.layout == kPlain) {
      view_.images = shape_[0];
      view_.channels = view_.lanes = elements_;
    } else {
      view_ = activation_of(spec.inputs[0].spec);
    }
  }

  void run(const StepContext& step) override {
    for_each(view_.images, view_.elements() * 4, [&](int64_t sample) { drop(sample, step); });
  }

 private:
  // Elements in canonical order are channel by channel; the mask is made for a run of them at a time.
  void drop(int64_t sample, const StepContext& step) const {
    constexpr int64_t kRun = 4 * kLanes;
    const T* x = x_ + view_.offset(sample, 0);
    T* y = y_ + view_.offset(sample, 0);
    const bool contiguous = view_.blocks == 1 && view_.pixels() == 1;
    if (view_.blocks * view_.lanes > view_.channels) clear_padding(x, y);
    int64_t channel = 0, pixel = 0, at = 0;
    for (int64_t element = 0; element < elements_; element += kRun) {
      const PhiloxLanes random(step.seed, step.position + static_cast<uint64_t>(sample), stream_ | static_cast<uint64_t>(element / 4));
      // All bits are set for kept elements and none for dropped ones: a branch could not be predicted.
      Ints keeps[4];
      for (int i = 0; i < 4; ++i) keeps[i] = (random.words[i] >> 8) >= least_;
      interleave(keeps);
      int32_t kept[kRun];
      std::memcpy(kept, keeps, sizeof kept);
      const int64_t run = std::min(kRun, elements_ - element);
      if (contiguous) {
        for_each_register(0, run, [&]<bool Partial>(int64_t i, int width) {
          Ints mask;
          std::memcpy(&mask, kept + i, sizeof mask);
          const Floats scaled = load<Partial>(x + element + i, width) * scale_;
          store<Partial>(y + element + i, reinterpret_cast<Floats>(reinterpret_cast<Ints>(scaled) & mask), width);
        });
        continue;
      }
      for (int64_t i = 0; i < run; ++i) {
        y[at] = from_float<T>(masked(to_float(x[at]) * scale_, kept[i]));
        at += view_.lanes;
        if (++pixel < view_.pixels()) continue;
        pixel = 0;
        at = view_.channel_offset(++channel);
      }
    }
  }

  static float masked(float value, int32_t mask) { return std::bit_cast<float>(std::bit_cast<int32_t>(value) & mask); }

  void clear_padding(const T* x, T* y) const {
    if (x == y) return;
    const int64_t lanes = view_.lanes, used = view_.channels % lanes;
    T* const last = y + (view_.blocks - 1) * view_.plane();
    for (int64_t pixel = 0; pixel < view_.pixels(); ++pixel) {
      for (int64_t lane = used; lane < lanes; ++lane) last[pixel * lanes + lane] = from_float<T>(0);
    }
  }

  const Shape shape_;
  const int64_t elements_;  // of a sample
  Activation view_;         // a plain sample is one pixel
  const T* x_;
  T* y_;
  const uint64_t stream_;
  const uint32_t least_;
  const float scale_;
};

// Over memory as it lies: samples follow one another in every layout.
template <class T> class StochasticDepth final : public Kernel {
 public:
  explicit StochasticDepth(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        elements_(elements_in_memory(spec.inputs[0].spec) / samples_),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)),
        stream_(static_cast<uint64_t>(spec.attributes.number("stream"))),
        rate_(static_cast<float>(spec.attributes.number("rate"))),
        scale_(static_cast<float>(1 / (1 - spec.attributes.number("rate")))) {}

  void run(const StepContext& step) override {
    for_each(samples_, samples_ * elements_, [&](int64_t sample) {
      const DropoutMask mask(step.seed, step.position + static_cast<uint64_t>(sample), stream_, rate_);
      const T* const x = x_ + sample * elements_;
      T* const y = y_ + sample * elements_;
      if (!mask.keeps_sample()) {
        std::memset(static_cast<void*>(y), 0, static_cast<size_t>(elements_) * sizeof(T));
        return;
      }
      for_each_register(0, elements_, [x, y, scale = scale_]<bool Partial>(int64_t at, int width) {
        store<Partial>(y + at, load<Partial>(x + at, width) * scale, width);
      });
    });
  }

 private:
  const int64_t samples_, elements_;  // elements of a sample, padding lanes included
  const T* x_;
  T* y_;  // may be x
  const uint64_t stream_;
  const float rate_, scale_;
};

void check(const Shapes& shapes) {
  shapes.output_is(0, shapes.input(0));
  const double rate = shapes.attributes().number("rate");
  if (!(rate >= 0 && rate < 1)) shapes.refuse("rate", std::to_string(rate), "give a number from 0 to below 1");
  shapes.whole("stream", 0, 0xffff0000);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"dropout", {{"x", activation}}, {{"y", activation}}, check, make_typed<Dropout>, {{0, 0}}},
      {"dropoutBackward", {{"gy", activation}}, {{"gx", activation}}, check, make_typed<Dropout>, {{0, 0}}},
      {"stochasticDepth", {{"x", activation}}, {{"y", activation}}, check, make_typed<StochasticDepth>, {{0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
