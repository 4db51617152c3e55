// Rows of a table by token, a table added to every sample, and the gradients of both tables.
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/rows.h"

namespace arbalest::kernels {
namespace {

void check_tokens(const int32_t* tokens, int64_t count, int64_t known) {
  for (int64_t n = 0; n < count; ++n) {
    if (tokens[n] >= 0 && tokens[n] < known) continue;
    throw Error("LABEL_OUT_OF_RANGE", "token " + std::to_string(n) + " of the batch: received " + std::to_string(tokens[n]) +
                                          "; give a number from 0 to " + std::to_string(known - 1));
  }
}

template <class T> class Embedding final : public Kernel {
 public:
  explicit Embedding(const OperatorSpec& spec)
      : rows_(spec.outputs[0].shape()),
        known_(spec.inputs[1].shape()[0]),
        tokens_(input<int32_t>(spec, 0)),
        table_(input<float>(spec, 1)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    check_tokens(tokens_, rows_.count, known_);
    for_each_row(rows_, [&](int64_t row) {
      const float* from = table_ + tokens_[row] * rows_.width;
      T* y = y_ + row * rows_.width;
      for_each_register(0, rows_.width,
                        [&]<bool Partial>(int64_t at, int width) { store<Partial>(y + at, load<Partial>(from + at, width), width); });
    });
  }

 private:
  const Rows rows_;
  const int64_t known_;
  const int32_t* tokens_;  // (rows)
  const float* table_;     // (V, F)
  T* y_;                   // (rows, F)
};

// Each element of the table sums its tokens in the batch's order: threads share the features among them.
template <class T> class EmbeddingBackward final : public Kernel {
 public:
  explicit EmbeddingBackward(const OperatorSpec& spec)
      : rows_(spec.inputs[1].shape()),
        known_(spec.outputs[0].shape()[0]),
        tokens_(input<int32_t>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gtable_(output<float>(spec, 0)) {}

  void run(const StepContext&) override {
    check_tokens(tokens_, rows_.count, known_);
    constexpr int64_t kFeatures = 64;
    for_each((rows_.width + kFeatures - 1) / kFeatures, rows_.elements(), [&](int64_t slice) {
      const int64_t begin = slice * kFeatures, end = std::min(rows_.width, begin + kFeatures);
      for (int64_t token = 0; token < known_; ++token)
        std::fill(gtable_ + token * rows_.width + begin, gtable_ + token * rows_.width + end, 0.0f);
      for (int64_t row = 0; row < rows_.count; ++row) {
        const T* gy = gy_ + row * rows_.width;
        float* to = gtable_ + tokens_[row] * rows_.width;
        for_each_register(begin, end, [&]<bool Partial>(int64_t at, int width) {
          store<Partial>(to + at, load<Partial>(to + at, width) + load<Partial>(gy + at, width), width);
        });
      }
    });
  }

 private:
  const Rows rows_;
  const int64_t known_;
  const int32_t* tokens_;  // (rows)
  const T* gy_;            // (rows, F)
  float* gtable_;          // (V, F)
};

template <class T> class Positions final : public Kernel {
 public:
  explicit Positions(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        elements_(elements_of(spec.inputs[1].shape())),
        x_(input<T>(spec, 0)),
        table_(input<float>(spec, 1)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(samples_, samples_ * elements_, [&](int64_t sample) {
      const T* x = x_ + sample * elements_;
      T* y = y_ + sample * elements_;
      for_each_register(0, elements_, [&]<bool Partial>(int64_t at, int width) {
        store<Partial>(y + at, load<Partial>(x + at, width) + load<Partial>(table_ + at, width), width);
      });
    });
  }

 private:
  const int64_t samples_, elements_;
  const T* x_;          // (N, elements)
  const float* table_;  // (elements)
  T* y_;                // (N, elements)
};

template <class T> class PositionsBackward final : public Kernel {
 public:
  explicit PositionsBackward(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        elements_(elements_of(spec.outputs[0].shape())),
        gy_(input<T>(spec, 0)),
        gtable_(output<float>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each_slice(elements_, [&](int64_t begin, int64_t end) {
      for_each_register(begin, end, [&]<bool Partial>(int64_t at, int width) {
        Floats sum{};
        for (int64_t sample = 0; sample < samples_; ++sample) sum += load<Partial>(gy_ + sample * elements_ + at, width);
        store<Partial>(gtable_ + at, sum, width);
      });
    });
  }

 private:
  const int64_t samples_, elements_;
  const T* gy_;    // (N, elements)
  float* gtable_;  // (elements)
};

Shape with(Shape shape, int64_t last) {
  shape.push_back(last);
  return shape;
}

void check_embedding(const Shapes& shapes) {
  shapes.input_rank(1, 2);
  shapes.output_is(0, with(shapes.input(0), shapes.input(1)[1]));
}

void check_embedding_backward(const Shapes& shapes) {
  shapes.output_rank(0, 2);
  shapes.input_is(1, with(shapes.input(0), shapes.output(0)[1]));
}

void check_positions(const Shapes& shapes) {
  shapes.input_rank_at_least(0, 2);
  const Shape& x = shapes.input(0);
  shapes.input_is(1, table_of(x, shapes.input(1)));
  shapes.output_is(0, x);
}

void check_positions_backward(const Shapes& shapes) {
  shapes.input_rank_at_least(0, 2);
  const Shape& gy = shapes.input(0);
  shapes.output_is(0, table_of(gy, shapes.output(0)));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"embedding", {{"tokens", label}, {"table", parameter}}, {{"y", canonical}}, check_embedding, make_typed<Embedding>},
      {"embeddingBackward",
       {{"tokens", label}, {"gy", canonical}},
       {{"gtable", parameter}},
       check_embedding_backward,
       make_typed<EmbeddingBackward>},
      {"positions", {{"x", canonical}, {"table", parameter}}, {{"y", canonical}}, check_positions, make_typed<Positions>, {{0, 0}}},
      {"positionsBackward", {{"gy", canonical}}, {{"gtable", parameter}}, check_positions_backward, make_typed<PositionsBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
