// The differences between oneDNN 2 and 3: primitive descriptors are made from operation descriptors in 2, directly in 3.
// Shapes and layouts are in the memory descriptors; a default-constructed bias stands for none.
#pragma once

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

namespace arbalest::onednn {

struct ConvolutionGeometry {
  dnnl::memory::dims strides, padding;
  dnnl::memory::dims skipped;  // pixels between those of two neighbouring weights: the dilation less 1
};

// x, w, b and y of one layer; gradients are in the positions of their tensors.
struct LayerDescriptors {
  dnnl::memory::desc x, w, b, y;
};

// `is_made`: whether a descriptor that may be empty is not.
// `strides_equal`: compares strides along extents of 1, which == ignores. They move no address, but oneDNN's implementations recognise
// layouts by them.

#if DNNL_VERSION_MAJOR >= 3

inline bool is_made(const dnnl::memory::desc& descriptor) { return static_cast<bool>(descriptor); }

inline bool strides_equal(const dnnl::memory::desc& a, const dnnl::memory::desc& b) { return a.get_strides() == b.get_strides(); }

inline void append_relu(dnnl::post_ops& operations) { operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f); }

inline dnnl::convolution_forward::primitive_desc convolution_forward(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                     const ConvolutionGeometry& g, const dnnl::primitive_attr& attr) {
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          d.x,
          d.w,
          d.b,
          d.y,
          g.strides,
          g.skipped,
          g.padding,
          g.padding,
          attr};
}

inline dnnl::convolution_backward_data::primitive_desc convolution_backward_data(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                                 const ConvolutionGeometry& g,
                                                                                 const dnnl::primitive_attr& attr,
                                                                                 const dnnl::convolution_forward::primitive_desc& forward) {
  return {engine, dnnl::algorithm::convolution_direct, d.x, d.w, d.y, g.strides, g.skipped, g.padding, g.padding, forward, attr};
}

inline dnnl::convolution_backward_weights::primitive_desc convolution_backward_weights(
    const dnnl::engine& engine, const LayerDescriptors& d, const ConvolutionGeometry& g, const dnnl::primitive_attr& attr,
    const dnnl::convolution_forward::primitive_desc& forward) {
  return {engine, dnnl::algorithm::convolution_direct, d.x, d.w, d.b, d.y, g.strides, g.skipped, g.padding, g.padding, forward, attr};
}

inline dnnl::inner_product_forward::primitive_desc linear_forward(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                  const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_training, d.x, d.w, d.b, d.y, attr};
}

inline dnnl::inner_product_backward_data::primitive_desc linear_backward_data(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                              const dnnl::primitive_attr& attr,
                                                                              const dnnl::inner_product_forward::primitive_desc& forward) {
  return {engine, d.x, d.w, d.y, forward, attr};
}

inline dnnl::inner_product_backward_weights::primitive_desc linear_backward_weights(
    const dnnl::engine& engine, const LayerDescriptors& d, const dnnl::primitive_attr& attr,
    const dnnl::inner_product_forward::primitive_desc& forward) {
  return {engine, d.x, d.w, d.b, d.y, forward, attr};
}

inline dnnl::matmul::primitive_desc matmul(const dnnl::engine& engine, const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                           const dnnl::memory::desc& y, const dnnl::primitive_attr& attr) {
  return {engine, a, b, y, attr};
}

#else

inline bool is_made(const dnnl::memory::desc& descriptor) { return descriptor.data.ndims != 0; }

inline bool strides_equal(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  const auto* const strides = a.data.format_desc.blocking.strides;
  return std::equal(strides, strides + a.data.ndims, b.data.format_desc.blocking.strides);
}

inline void append_relu(dnnl::post_ops& operations) { operations.append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f); }

inline dnnl::convolution_forward::primitive_desc convolution_forward(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                     const ConvolutionGeometry& g, const dnnl::primitive_attr& attr) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, d.x, d.w, d.b, d.y, g.strides, g.skipped, g.padding,
           g.padding},
          attr,
          engine};
}

inline dnnl::convolution_backward_data::primitive_desc convolution_backward_data(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                                 const ConvolutionGeometry& g,
                                                                                 const dnnl::primitive_attr& attr,
                                                                                 const dnnl::convolution_forward::primitive_desc& forward) {
  return {{dnnl::algorithm::convolution_direct, d.x, d.w, d.y, g.strides, g.skipped, g.padding, g.padding}, attr, engine, forward};
}

inline dnnl::convolution_backward_weights::primitive_desc convolution_backward_weights(
    const dnnl::engine& engine, const LayerDescriptors& d, const ConvolutionGeometry& g, const dnnl::primitive_attr& attr,
    const dnnl::convolution_forward::primitive_desc& forward) {
  return {{dnnl::algorithm::convolution_direct, d.x, d.w, d.b, d.y, g.strides, g.skipped, g.padding, g.padding}, attr, engine, forward};
}

inline dnnl::inner_product_forward::primitive_desc linear_forward(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                  const dnnl::primitive_attr& attr) {
  return {{dnnl::prop_kind::forward_training, d.x, d.w, d.b, d.y}, attr, engine};
}

inline dnnl::inner_product_backward_data::primitive_desc linear_backward_data(const dnnl::engine& engine, const LayerDescriptors& d,
                                                                              const dnnl::primitive_attr& attr,
                                                                              const dnnl::inner_product_forward::primitive_desc& forward) {
  return {{d.x, d.w, d.y}, attr, engine, forward};
}

inline dnnl::inner_product_backward_weights::primitive_desc linear_backward_weights(
    const dnnl::engine& engine, const LayerDescriptors& d, const dnnl::primitive_attr& attr,
    const dnnl::inner_product_forward::primitive_desc& forward) {
  return {{d.x, d.w, d.b, d.y}, attr, engine, forward};
}

inline dnnl::matmul::primitive_desc matmul(const dnnl::engine& engine, const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                           const dnnl::memory::desc& y, const dnnl::primitive_attr& attr) {
  return {{a, b, y}, attr, engine};
}

#endif

}  // namespace arbalest::onednn
