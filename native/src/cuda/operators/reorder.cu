// The same tensor in another layout or element type: "plain", "nhwc" for images, "ohwi" for the weights of convolutions, which is the same
// order.
#include "../launch.h"
#include "../layouts.h"
#include "queued.h"

namespace arbalest::cuda {
namespace {

// Element i of the target, from where it lies in the source. Both are 4-dimensional with (N, C, H, W) in one of two orders.
template <class From, class To> struct Reorder {
  const From* from;
  To* to;
  Image image;
  bool from_last, to_last;  // channels last

  EVERYWHERE void operator()(int64_t i) const {
    const int pixels = image.h * image.w;
    int64_t at = i;
    if (from_last != to_last) {
      const int64_t sample = i / (static_cast<int64_t>(pixels) * image.c);
      const int within = static_cast<int>(i % (static_cast<int64_t>(pixels) * image.c));
      const int c = to_last ? within % image.c : within / pixels, s = to_last ? within / image.c : within % pixels;
      at = sample * pixels * image.c + (from_last ? s * image.c + c : c * pixels + s);
    }
    to[i] = To(static_cast<float>(from[at]));
  }
};

// Where nothing moves: packs.
template <class From, class To, int V> struct Convert {
  const From* from;
  To* to;

  EVERYWHERE void operator()(int64_t i) const {
    const Pack<From, V> values = read<From, V>(from, i);
    Pack<To, V> converted;
    for (int v = 0; v < V; ++v) converted.at[v] = To(static_cast<float>(values.at[v]));
    write(to, i, converted);
  }
};

template <class From, class To> MadeKernel make(const Tensor& from, const Tensor& to, DeviceStream& stream) {
  const int64_t elements = elements_of(from.shape());
  const bool from_last = channels_last(from.spec), to_last = channels_last(to.spec);
  if (from_last == to_last && elements % 8 == 0) {
    const Convert<From, To, 8> program{from.as<From>(), to.as<To>()};
    return queued([&stream, program, elements] { each(stream, elements / 8, program); });
  }
  Shape shape = from.shape();
  shape.resize(4, 1);
  const Reorder<From, To> program{from.as<From>(), to.as<To>(), Image(shape), from_last, to_last};
  return queued([&stream, program, elements] { each(stream, elements, program); });
}

}  // namespace

MadeKernel make_reorder(const OperatorSpec& spec, DeviceStream& stream) {
  const Tensor &from = spec.inputs[0], &to = spec.outputs[0];
  const Type f = from.spec.type, t = to.spec.type;
  if (f == t && f == Type::f32) return make<float, float>(from, to, stream);
  if (f == t && f == Type::bf16) return make<Bf16, Bf16>(from, to, stream);
  if (f == t && f == Type::u8) return make<uint8_t, uint8_t>(from, to, stream);
  if (f == Type::f32 && t == Type::bf16) return make<float, Bf16>(from, to, stream);
  if (f == Type::bf16 && t == Type::f32) return make<Bf16, float>(from, to, stream);
  if (f == t && channels_last(from.spec) == channels_last(to.spec)) {
    const size_t bytes = static_cast<size_t>(elements_of(from.shape())) * size_of(f);
    return queued([&stream, to = to.data, from = from.data, bytes] { stream.copy(to, from, bytes); });
  }
  throw Error("UNSUPPORTED_OPERATOR", "reorder: the cuda backend turns f32 and bf16 into each other, and no other element types");
}

}  // namespace arbalest::cuda
