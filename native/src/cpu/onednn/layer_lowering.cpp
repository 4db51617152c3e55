#include "cpu/onednn/layer_lowering.h"

#include <omp.h>

#include <optional>

#include "cpu/onednn/layouts.h"

namespace arbalest {
namespace {

using Layouts = std::array<std::string, kRoles>;

enum Grade { kReference, kGemm, kJit };

// oneDNN's reference loops can be 500 times slower than its generated code, and convolutions by matrix product pay for unfolding.
Grade grade_of(const std::string& implementation) {
  if (implementation.find("ref") != std::string::npos) return kReference;
  const bool product = implementation.find("gemm") != std::string::npos && implementation.find("brgemm") == std::string::npos;
  return product ? kGemm : kJit;
}

// oneDNN's choice depends on the number of threads. Layouts belong to a whole job and must not depend on it: they are chosen for one
// thread, and then oneDNN is asked for the scratch memory of all threads.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

bool is_activation_layout(const std::string& layout) { return layout != kAny && layout != kPlain; }

// Channels that do not fill whole blocks would be padded (20 to 24, 50 to 56) and the padding multiplied: such layers run faster in nhwc.
// An image of one channel is the same memory in nhwc as in the canonical layout, and gets the latter's name.
std::string open_activation_layout(const Layer& layer, Role role, int channel_block) {
  const bool fills_blocks = layer.tensors[kY].shape[1] % channel_block == 0;
  if (layer.tensors[kX].type != Type::f32 || fills_blocks) return std::string(kAny);
  return layer.tensors[role].shape[1] == 1 ? std::string(kPlain) : "nhwc";
}

// The layouts to try, best first. The offered layouts come before others because they need no reorder.
// `copies_weights`: they lie in another type, and oneDNN may choose the layout of the copy.
std::vector<Layouts> convolution_candidates(const Layer& layer, int channel_block, bool copies_weights) {
  const auto offered = [&](Role role) { return layer.tensors[role].layout; };
  std::string x = offered(kX), y = offered(kY);
  if (x == kAny) x = is_activation_layout(y) ? y : open_activation_layout(layer, kX, channel_block);
  if (y == kAny) y = is_activation_layout(x) ? x : open_activation_layout(layer, kY, channel_block);
  const std::string b(kPlain), any(kAny), w = copies_weights && offered(kW) != kPlain ? any : offered(kW);
  return {{x, w, b, y}, {x, any, b, y}, {x, any, b, any}, {any, any, b, y}, {any, any, b, any}, {"nhwc", any, b, "nhwc"}, {b, any, b, b}};
}

// In f32 plain weights are nearly as fast as packed ones in all three passes, and no step has to pack them. In bf16 the weights are copies
// in any case, packed as each pass needs them.
std::vector<Layouts> linear_candidates(const Layer& layer) {
  const std::string plain(kPlain), any(kAny);
  if (layer.tensors[kX].type == Type::f32 || layer.pass == Pass::backward_weights)
    return {{plain, plain, plain, plain}, {plain, any, plain, plain}};
  return {{plain, any, plain, plain}};
}

struct Choice {
  Layouts layouts;
  std::string implementation;
  size_t scratch_bytes = 0;
};

Layer with_layouts(Layer layer, const Layouts& layouts) {
  for (int role = 0; role < kRoles; ++role) {
    if (!layer.tensors[role].shape.empty()) layer.tensors[role].layout = layouts[role];
  }
  return layer;
}

// The name of the wanted layout, or of the layout that oneDNN chose.
std::string name_of(const Layer& layer, Role role, const std::string& wanted, const dnnl::primitive_desc& primitive) {
  const TensorSpec& tensor = layer.tensors[role];
  if (wanted != kAny || position_of(layer.pass, role).index < 0 || tensor.shape.empty()) return wanted;
  const auto descriptor = primitive.query_md(dnnl::query::exec_arg_md, argument_of(layer.pass, role));
  const std::string name = layout_of(descriptor, tensor, role == kW ? layer.groups : 1);
  return name == "nhwc" && role != kW && is_plain_and_nhwc(tensor.shape) ? std::string(kPlain) : name;
}

// Asked for with named layouts, oneDNN must give the implementation that it gave when it was free to choose, unless any will do. None if it
// does not, or if the layouts have no names.
std::optional<Choice> tried(const Layer& layer, const Layouts& wanted, const dnnl::engine& engine, bool any_will_do) {
  try {
    const auto free = describe(with_layouts(layer, wanted), engine);
    Layouts names;
    for (int role = 0; role < kRoles; ++role) names[role] = name_of(layer, static_cast<Role>(role), wanted[role], free);
    if (names[kX] == kAny || names[kW] == kAny || names[kY] == kAny) return std::nullopt;
    const auto named = describe(with_layouts(layer, names), engine);
    const std::string implementation = named.impl_info_str();
    if (any_will_do || implementation == free.impl_info_str()) {
      return Choice{names, implementation, named.query_md(dnnl::query::scratchpad_md).get_size()};
    }
  } catch (const dnnl::error&) {  // oneDNN has no implementation for these layouts
  } catch (const Error&) {        // the layout does not fit the tensor: a blocked one for two dimensions, for example
  }
  return std::nullopt;
}

Choice best_of(const Layer& layer, const std::vector<Layouts>& candidates, Grade enough, const std::string& kind,
               const dnnl::engine& engine) {
  std::optional<Choice> best;
  for (const bool any_will_do : {false, true}) {
    for (const Layouts& layouts : candidates) {
      std::optional<Choice> choice = tried(layer, layouts, engine, any_will_do);
      if (choice && (!best || grade_of(choice->implementation) > grade_of(best->implementation))) best = std::move(choice);
      if (best && grade_of(best->implementation) >= enough) break;
    }
    if (best) break;
  }
  if (!best) {
    throw Error("UNSUPPORTED_OPERATOR",
                kind + ": oneDNN has no implementation for these shapes on this processor; use the reference backend");
  }
  return std::move(*best);
}

}  // namespace

LoweringAnswer lower_layer(const LoweringRequest& request, int channel_block, const dnnl::engine& engine) {
  const Threads one_thread(1);
  const Layer layer = layer_of(request.kind, request.attributes, request.inputs, request.outputs, request.precision);
  const Position w = position_of(layer.pass, kW);
  const bool copies_weights = !w.output && request.inputs[w.index].type != layer.tensors[kW].type;
  const auto candidates = layer.convolution ? convolution_candidates(layer, channel_block, copies_weights) : linear_candidates(layer);
  const Choice choice = best_of(layer, candidates, layer.convolution ? kJit : kGemm, request.kind, engine);

  LoweringAnswer answer;
  answer.inputs = request.inputs;
  answer.outputs = request.outputs;
  answer.implementation = choice.implementation;
  answer.scratch_bytes = choice.scratch_bytes;
  if (request.threads > 1) {
    const Threads team(request.threads);
    const auto primitive = describe(with_layouts(layer, choice.layouts), engine);
    answer.scratch_bytes = primitive.query_md(dnnl::query::scratchpad_md).get_size();
  }
  for (int role = 0; role < kRoles; ++role) {
    const Position at = position_of(layer.pass, static_cast<Role>(role));
    if (at.index < 0 || layer.tensors[role].shape.empty()) continue;
    TensorSpec& tensor = (at.output ? answer.outputs : answer.inputs)[at.index];
    tensor.type = layer.tensors[role].type;
    tensor.layout = choice.layouts[role];
  }
  return answer;
}

}  // namespace arbalest
