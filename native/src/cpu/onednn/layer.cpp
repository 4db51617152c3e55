#include "cpu/onednn/layer.h"

#include "cpu/onednn/layouts.h"

namespace arbalest {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"conv2d", "conv2dBackwardData", "conv2dBackwardWeights",
                                                 "linear", "linearBackwardData", "linearBackwardWeights"};

int kind_index(const std::string& kind) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == kind) return static_cast<int>(i);
  }
  return -1;
}

void require(bool holds, const std::string& kind, const Layer& layer, const char* fix) {
  if (holds) return;
  throw Error("INVALID_PROGRAM", kind + ": received x " + shown(layer.tensors[kX].shape) + ", w " + shown(layer.tensors[kW].shape) +
                                     ", y " + shown(layer.tensors[kY].shape) + "; " + fix);
}

// Of an image that is smaller than the window: 0 or less.
int64_t out_extent(int64_t in, int64_t window, int64_t stride, int64_t padding) {
  const int64_t room = in + 2 * padding - window;
  return room < 0 ? 0 : room / stride + 1;
}

void check_convolution(const std::string& kind, const Layer& layer) {
  const auto &x = layer.tensors[kX].shape, &w = layer.tensors[kW].shape, &y = layer.tensors[kY].shape;
  const auto& g = layer.geometry;
  require(x.size() == 4 && w.size() == 4 && y.size() == 4, kind, layer, "a convolution's tensors have four dimensions");
  require(g.strides.size() == 2 && g.padding.size() == 2 && g.strides[0] > 0 && g.strides[1] > 0 && g.padding[0] >= 0 && g.padding[1] >= 0,
          kind, layer, "stride and padding are two numbers each, stride at least 1, padding at least 0");
  require(layer.groups > 0 && w[0] % layer.groups == 0 && x[1] == w[1] * layer.groups, kind, layer,
          "channels of x are groups times the second extent of w, and groups divide the first");
  require(y[0] == x[0] && y[1] == w[0], kind, layer, "y has the batch of x and the first extent of w as channels");
  require(g.skipped.size() == 2 && g.skipped[0] >= 0 && g.skipped[1] >= 0, kind, layer, "dilation is two numbers, at least 1");
  for (size_t d = 0; d < 2; ++d) {
    const int64_t window = (w[2 + d] - 1) * (g.skipped[d] + 1) + 1;
    require(y[2 + d] > 0 && y[2 + d] == out_extent(x[2 + d], window, g.strides[d], g.padding[d]), kind, layer,
            "height and width of y are (in + 2*padding - dilation*(kernel - 1) - 1)/stride + 1");
  }
}

void check_linear(const std::string& kind, const Layer& layer) {
  const auto &x = layer.tensors[kX].shape, &w = layer.tensors[kW].shape, &y = layer.tensors[kY].shape;
  require(x.size() == 2 && w.size() == 2 && y.size() == 2 && x[0] == y[0] && x[1] == w[1] && y[1] == w[0], kind, layer,
          "a linear layer takes x (..., F), w (O, F) and gives y (..., O)");
}

dnnl::memory::dims pair_of(const std::vector<double>& list) { return {list.begin(), list.end()}; }

// A layer's forward pass, the hint that oneDNN's backward passes need. The layout of w is open: each pass may want its own.
Layer forward_hint(const Layer& layer) {
  Layer hint = layer;
  hint.pass = Pass::forward;
  hint.relu = false;
  hint.tensors[kW].layout = kAny;
  hint.tensors[kW].type = layer.tensors[kX].type;
  return hint;
}

// oneDNN has fast implementations only for x and y of one layout, and its cache of primitives does not tell "plain" from "nhwc" where they
// are the same memory. There the tensor gets the name of the other tensor's layout.
TensorSpec beside(const TensorSpec& tensor, const TensorSpec& other) {
  TensorSpec named = tensor;
  if (!is_plain_and_nhwc(tensor.shape) || (tensor.layout != kPlain && tensor.layout != "nhwc")) return named;
  named.layout = other.layout == "nhwc" || is_plain_and_nhwc(other.shape) ? "nhwc" : std::string(kPlain);
  return named;
}

onednn::LayerDescriptors descriptors_of(const Layer& layer) {
  const TensorSpec &x = layer.tensors[kX], &w = layer.tensors[kW], &b = layer.tensors[kB], &y = layer.tensors[kY];
  return {descriptor_of(beside(x, y)), descriptor_of(w, layer.groups), b.shape.empty() ? dnnl::memory::desc() : descriptor_of(b),
          descriptor_of(beside(y, x))};
}

dnnl::primitive_attr attributes_of(const Layer& layer) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (layer.relu && layer.pass == Pass::forward) {
    dnnl::post_ops operations;
    onednn::append_relu(operations);
    attr.set_post_ops(operations);
  }
  return attr;
}

dnnl::convolution_forward::primitive_desc forward_convolution(const Layer& layer, const dnnl::engine& engine) {
  return onednn::convolution_forward(engine, descriptors_of(layer), layer.geometry, attributes_of(layer));
}

dnnl::inner_product_forward::primitive_desc forward_linear(const Layer& layer, const dnnl::engine& engine) {
  return onednn::linear_forward(engine, descriptors_of(layer), attributes_of(layer));
}

// oneDNN 2.6 has code for gradients that computes nonsense, or reads and writes other memory, where channels lie side by side and those of
// a group fill no whole vectors, of 8 or of 16:
// - gradients of weights of 1x1, with strides, in either type;
// - gradients of weights in bfloat16, with dilation, of images that are wider than some 28 pixels;
// - gradients of data of 1x1 in bfloat16, where the filters are odd in number: of some numbers of pixels, as multiples of 30.
// And its code for bfloat16 leaves gradients of weights unwritten where the filters step over more columns than the images have.
bool is_sound(const Layer& layer, std::string_view implementation) {
  constexpr int64_t kWidestVector = 16;
  const TensorSpec &x = layer.tensors[kX], &y = layer.tensors[kY];
  const int64_t channels = x.shape[1] / layer.groups, filters = y.shape[1] / layer.groups;
  const auto& strides = layer.geometry.strides;
  const auto is_apart = [](const TensorSpec& image) { return image.layout == "nhwc" || image.layout == kPlain; };
  const bool is_bf16 = x.type == Type::bf16 && implementation.starts_with("jit");
  const bool is_of_points = implementation.starts_with("jit_1x1") || implementation.starts_with("jit_bf16_1x1");
  if (layer.pass == Pass::backward_data) return !(is_bf16 && is_of_points && is_apart(y) && filters % 2 != 0);
  const bool is_dilated = layer.geometry.skipped != dnnl::memory::dims{0, 0}, steps = strides != dnnl::memory::dims{1, 1};
  if (is_apart(x) && channels % kWidestVector != 0 && ((is_of_points && steps) || (is_bf16 && is_dilated))) return false;
  return !(is_bf16 && strides[1] > x.shape[3]);
}

// The first implementation that is sound.
template <class Descriptor> dnnl::primitive_desc sound_one(Descriptor made, const Layer& layer) {
  while (!is_sound(layer, made.impl_info_str())) {
    if (!made.next_impl()) throw Error("UNSUPPORTED_OPERATOR", "gradient of conv2d: oneDNN has no sound implementation of it");
  }
  return made;
}

}  // namespace

bool is_layer(const std::string& kind) { return kind_index(kind) >= 0; }

Position position_of(Pass pass, Role role) {
  static constexpr Position kPositions[3][kRoles] = {{{false, 0}, {false, 1}, {false, 2}, {true, 0}},   // x, w, b -> y
                                                     {{true, 0}, {false, 1}, {false, -1}, {false, 0}},  // gy, w -> gx
                                                     {{false, 0}, {true, 0}, {true, 1}, {false, 1}}};   // x, gy -> gw, gb
  return kPositions[static_cast<int>(pass)][role];
}

int argument_of(Pass pass, Role role) {
  static constexpr int kArguments[3][kRoles] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
                                                {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DIFF_DST},
                                                {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST}};
  return kArguments[static_cast<int>(pass)][role];
}

Layer layer_of(const std::string& kind, const Attributes& attributes, const std::vector<TensorSpec>& inputs,
               const std::vector<TensorSpec>& outputs, Type precision) {
  const int index = kind_index(kind);
  Layer layer;
  layer.convolution = index < 3;
  layer.pass = static_cast<Pass>(index % 3);
  layer.relu = attributes.number("relu", 0) != 0;
  if (layer.convolution) {
    layer.groups = static_cast<int64_t>(attributes.number("groups", 1));
    layer.geometry = {pair_of(attributes.list("stride")), pair_of(attributes.list("padding")),
                      pair_of(attributes.list("dilation", {1, 1}))};
    for (int64_t& skipped : layer.geometry.skipped) --skipped;
  }
  for (int role = 0; role < kRoles; ++role) {
    const Position at = position_of(layer.pass, static_cast<Role>(role));
    const auto& from = at.output ? outputs : inputs;
    TensorSpec& tensor = layer.tensors[role];
    if (at.index >= 0 && at.index < static_cast<int>(from.size())) tensor = from[at.index];
    // A linear layer joins all axes but the last.
    if (!layer.convolution && (role == kX || role == kY) && tensor.shape.size() > 2)
      tensor.shape = {elements_of(tensor.shape) / tensor.shape.back(), tensor.shape.back()};
    // Biases and all gradients of parameters are f32 for every type of activations.
    tensor.type = role == kB || (role == kW && layer.pass == Pass::backward_weights) ? Type::f32 : precision;
  }
  layer.convolution ? check_convolution(kind, layer) : check_linear(kind, layer);
  const Shape& b = layer.tensors[kB].shape;
  require(b.empty() || b == Shape{layer.tensors[kW].shape[0]}, kind, layer, "a bias has as many elements as the first extent of w");
  if (!b.empty()) layer.tensors[kB].layout = kPlain;
  return layer;
}

dnnl::primitive_desc describe(const Layer& layer, const dnnl::engine& engine) {
  const auto attr = attributes_of(layer);
  const auto d = descriptors_of(layer);
  if (layer.convolution) {
    if (layer.pass == Pass::forward) return forward_convolution(layer, engine);
    const auto hint = forward_convolution(forward_hint(layer), engine);
    if (layer.pass == Pass::backward_data)
      return sound_one(onednn::convolution_backward_data(engine, d, layer.geometry, attr, hint), layer);
    return sound_one(onednn::convolution_backward_weights(engine, d, layer.geometry, attr, hint), layer);
  }
  if (layer.pass == Pass::forward) return forward_linear(layer, engine);
  const auto hint = forward_linear(forward_hint(layer), engine);
  if (layer.pass == Pass::backward_data) return onednn::linear_backward_data(engine, d, attr, hint);
  return onednn::linear_backward_weights(engine, d, attr, hint);
}

}  // namespace arbalest
