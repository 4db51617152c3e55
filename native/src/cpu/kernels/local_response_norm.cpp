// Local response normalisation across channels: y = x * s^-beta with s = k + alpha / size * (sum of x^2 over the `size` channels around),
// Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012, with alpha as PyTorch means it. The gradient
// is gx_i = gy_i s_i^-beta - 2 alpha beta / size * x_i * (sum of gy_j x_j s_j^(-beta - 1) over the channels j around which i lies).
#include <omp.h>

#include <algorithm>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/exponential.h"
#include "cpu/kernels/logarithm.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {
namespace {

// The channels of a few pixels in a row of floats, so that neighbouring channels are `unit` floats apart: of kLanes pixels where the layout
// is plain, of one pixel elsewhere. The places beside the first and the last channel are zero.
struct Rows {
  explicit Rows(const Activation& activation) : view(activation), unit(view.lanes == 1 ? kLanes : 1) {}

  int64_t tiles() const { return (view.pixels() + unit - 1) / unit; }
  // Whole registers, with all lanes of padding.
  int64_t length() const {
    const int64_t floats = view.blocks * view.lanes * unit;
    return (floats + kLanes - 1) / kLanes * kLanes;
  }

  template <class T> void gather(const T* from, int64_t image, int64_t tile, float* row) const {
    each(image, tile, [&](int64_t offset, int64_t at, int width) { store(row + at, load(from + offset, width)); });
  }

  template <class T> void scatter(const float* row, int64_t image, int64_t tile, T* to) const {
    each(image, tile, [&](int64_t offset, int64_t at, int width) { store(to + offset, load(row + at), width); });
  }

  const Activation view;
  const int64_t unit;

 private:
  // body(elements before it in the activation, floats before it in the row, how many) for every register.
  template <class Body> void each(int64_t image, int64_t tile, const Body& body) const {
    if (unit > 1) {
      const int64_t pixel = tile * unit;
      const auto width = static_cast<int>(std::min(unit, view.pixels() - pixel));
      for (int64_t c = 0; c < view.channels; ++c) body(view.offset(image, c) + pixel, c * unit, width);
      return;
    }
    for (int64_t block = 0; block < view.blocks; ++block) {
      for (int64_t lane = 0; lane < view.lanes; lane += kLanes) {
        const auto width = static_cast<int>(std::min<int64_t>(kLanes, view.lanes - lane));
        body(view.offset(image, block) + tile * view.lanes + lane, block * view.lanes + lane, width);
      }
    }
  }
};

struct Form {
  explicit Form(const Attributes& attributes)
      : before(static_cast<int64_t>(attributes.number("size")) / 2),
        after((static_cast<int64_t>(attributes.number("size")) - 1) / 2),
        scale(static_cast<float>(attributes.number("alpha") / attributes.number("size"))),
        beta(static_cast<float>(attributes.number("beta"))),
        k(static_cast<float>(attributes.number("k"))) {}

  // Sums of the squares around each channel from `at` on.
  Floats scale_of(const float* squares, int64_t at, int64_t unit) const { return k + scale * window(squares, at, unit, before, after); }

  static Floats window(const float* row, int64_t at, int64_t unit, int64_t before, int64_t after) {
    Floats sum{};
    for (int64_t d = -before; d <= after; ++d) sum += load(row + at + d * unit);
    return sum;
  }

  int64_t before, after;
  float scale, beta, k;
};

// Rows of floats for one thread, zero at first, each with room for the window on both sides.
class Workspace {
 public:
  Workspace(const Rows& rows, const Form& form, int count)
      : margin_((form.before + 1) * rows.unit), stride_(rows.length() + 2 * margin_ + kLanes) {
    floats_.resize(static_cast<size_t>(stride_ * count));
  }
  float* row(int i) { return floats_.data() + stride_ * i + margin_; }

 private:
  int64_t margin_, stride_;
  std::vector<float> floats_;
};

// The base of both directions: one tile at a time, each thread with its own rows.
class Tiled : public Kernel {
 public:
  Tiled(const OperatorSpec& spec, int rows)
      : rows_(activation_of(spec.inputs[0].spec)),
        form_(spec.attributes),
        workspaces_(static_cast<size_t>(omp_get_max_threads()), Workspace(rows_, form_, rows)) {}

  void run(const StepContext&) override {
    const int64_t tiles = rows_.tiles();
    for_each(rows_.view.images * tiles, rows_.view.elements() * 4,
             [&](int64_t item) { run_tile(item / tiles, item % tiles, workspaces_[static_cast<size_t>(omp_get_thread_num())]); });
  }

 protected:
  virtual void run_tile(int64_t image, int64_t tile, Workspace& workspace) const = 0;

  static void square(const float* x, float* squares, int64_t length) {
    for (int64_t at = 0; at < length; at += kLanes) store(squares + at, load(x + at) * load(x + at));
  }

  const Rows rows_;
  const Form form_;

 private:
  std::vector<Workspace> workspaces_;
};

template <class T> class LocalResponseNorm final : public Tiled {
 public:
  explicit LocalResponseNorm(const OperatorSpec& spec) : Tiled(spec, 2), x_(input<T>(spec, 0)), y_(output<T>(spec, 0)) {}

 private:
  void run_tile(int64_t image, int64_t tile, Workspace& workspace) const override {
    float *const x = workspace.row(0), *const squares = workspace.row(1);
    rows_.gather(x_, image, tile, x);
    square(x, squares, rows_.length());
    for (int64_t at = 0; at < rows_.length(); at += kLanes) {
      const Floats scale = form_.scale_of(squares, at, rows_.unit);
      store(x + at, load(x + at) * exponential(-form_.beta * logarithm(scale)));
    }
    rows_.scatter(x, image, tile, y_);
  }

  const T* x_;
  T* y_;
};

template <class T> class LocalResponseNormBackward final : public Tiled {
 public:
  explicit LocalResponseNormBackward(const OperatorSpec& spec)
      : Tiled(spec, 4), x_(input<T>(spec, 0)), gy_(input<T>(spec, 1)), gx_(output<T>(spec, 0)) {}

 private:
  void run_tile(int64_t image, int64_t tile, Workspace& workspace) const override {
    float *const x = workspace.row(0), *const squares = workspace.row(1), *const gradients = workspace.row(2),
                 *const shares = workspace.row(3);
    rows_.gather(x_, image, tile, x);
    rows_.gather(gy_, image, tile, gradients);
    square(x, squares, rows_.length());
    for (int64_t at = 0; at < rows_.length(); at += kLanes) {
      const Floats scale = form_.scale_of(squares, at, rows_.unit);
      const Floats own = load(gradients + at) * exponential(-form_.beta * logarithm(scale));
      store(gradients + at, own);
      store(shares + at, own * load(x + at) / scale);
    }
    const float factor = 2.0f * form_.scale * form_.beta;
    for (int64_t at = 0; at < rows_.length(); at += kLanes) {
      const Floats others = Form::window(shares, at, rows_.unit, form_.after, form_.before);
      store(x + at, load(gradients + at) - factor * load(x + at) * others);
    }
    rows_.scatter(x, image, tile, gx_);
  }

  const T *x_, *gy_;
  T* gx_;
};

void check(const Shapes& shapes) {
  const auto number = [&](const char* name, double least) {
    const double value = shapes.attributes().number(name);
    if (!(value >= least && value < 0x1p31))
      shapes.refuse(name, std::to_string(value), "give a number of at least " + std::to_string(least));
  };
  shapes.whole("size", 1, 1 << 20);
  number("alpha", 0);
  number("beta", 0);
  number("k", 1e-6);
  shapes.input_rank(0, 4);
  shapes.output_is(0, shapes.input(0));
}

void check_backward(const Shapes& shapes) {
  check(shapes);
  shapes.input_is(1, shapes.input(0));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"localResponseNorm", {{"x", activation}}, {{"y", activation}}, check, make_typed<LocalResponseNorm>, {{0, 0}}},
      {"localResponseNormBackward",
       {{"x", activation}, {"gy", activation}},
       {{"gx", activation}},
       check_backward,
       make_typed<LocalResponseNormBackward>,
       {{0, 1}, {0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
