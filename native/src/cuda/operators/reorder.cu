// The same tensor in another layout or element type: "plain", "nhwc" for images, "ohwi" for the weights of convolutions, which is the same
// order.
#include "cuda/launch.h"
#include "cuda/operators/order.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class From, class To> struct Reorder {
  const From* from;
  To* to;
  Order order;

  EVERYWHERE void operator()(int64_t i) const { to[i] = To(static_cast<float>(from[order.at(i)])); }
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
  const Order order(from.spec, to.spec);
  if (order.same() && elements % 8 == 0) {
    const Convert<From, To, 8> program{from.as<From>(), to.as<To>()};
    return queued([&stream, program, elements] { each(stream, elements / 8, program); });
  }
  const Reorder<From, To> program{from.as<From>(), to.as<To>(), order};
  return queued([&stream, program, elements] { each(stream, elements, program); });
}

}  // namespace

MadeKernel make_reorder(const OperatorSpec& spec, DeviceStream& stream) {
  if (spec.inputs.size() > 1 && spec.inputs[1]) return make_reorder_together(spec, stream);
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

namespace {

using enum Port;
const Registered kOperators{{
    {"reorder", {own}, {own}, make_reorder},
}};

}  // namespace
}  // namespace arbalest::cuda
