// Separates the heads of self-attention: one matrix for each sequence and head, for batched products.
#pragma once

#include "cuda/launch.h"
#include "cuda/number.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/sequence_length.h"

namespace arbalest::cuda {

struct Heads {
  int sequences, length, heads, width;

  // `features` is (N, T, heads * width).
  Heads(const Shape& features, const Attributes& attributes)
      : sequences(static_cast<int>(features[0])),
        length(static_cast<int>(features[1])),
        heads(whole(attributes, "heads")),
        width(static_cast<int>(features[2]) / heads) {}

  int64_t matrices() const { return int64_t{sequences} * heads; }
  int64_t rows() const { return matrices() * length; }
  int64_t features() const { return rows() * width; }  // of a query, key, value or result
  int64_t scores() const { return rows() * length; }
};

// Between (N, T, parts, heads, width), where `parts` are query, key and value or a result alone, and (parts, N, heads, T, width). Places
// behind the end of a sequence become zeros both ways. Products multiply them by zeros, and zero times NaN is NaN.
template <class T, int V> struct MoveHeads {
  const T* from;
  T* to;
  int sequences, length, parts, heads, packs;
  bool apart;            // else together again
  const float* lengths;  // (N) or null

  EVERYWHERE void operator()(int64_t i) const {
    int rest = static_cast<int>(i);
    const int pack = rest % packs;
    rest /= packs;
    const int head = rest % heads;
    rest /= heads;
    const int part = rest % parts;
    rest /= parts;
    const int t = rest % length, n = rest / length;
    const int64_t there = (((static_cast<int64_t>(part) * sequences + n) * heads + head) * length + t) * packs + pack;
    const int64_t source = apart ? i : there, target = apart ? there : i;
    write(to, target, t < places_of(lengths, n, length) ? read<T, V>(from, source) : Pack<T, V>{});
  }
};

template <class T, int V>
void move_heads(DeviceStream& stream, const Heads& of, int parts, const T* from, T* to, bool apart, const float* lengths) {
  const MoveHeads<T, V> program{from, to, of.sequences, of.length, parts, of.heads, of.width / V, apart, lengths};
  each(stream, parts * of.features() / V, program);
}

}  // namespace arbalest::cuda
