// A data set from JavaScript arrays, with all labels checked.
#pragma once

#include <cstring>

#include "binding/typed_arrays.h"
#include "binding/values.h"
#include "core/no_class.h"
#include "data/dataset.h"

namespace arbalest::js {

// The number of elements of `count` tensors of a checked shape.
inline size_t elements_of_all(const char* what, size_t count, const Shape& shape) {
  size_t elements = count;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(elements, static_cast<size_t>(extent), &elements) || elements > size_t{1} << 48)
      throw Error("SHAPE_MISMATCH", std::string(what) + ": " + std::to_string(count) + " of this shape are more than any memory holds");
  return elements;
}

// Windows of one row of tokens; their targets are windows too.
inline void read_windows(const Napi::Object& from, const Napi::Value& samples, Dataset& dataset) {
  dataset.stride = integer(from, "stride");
  dataset.classes = small(property(from, "classes"), "classes");
  const auto length = static_cast<int64_t>(elements_of_all("sample", 1, dataset.sample));
  if (dataset.stride < 1 || dataset.sample.size() != 1 || dataset.sample_type != Type::i32)
    throw Error("SHAPE_MISMATCH", "stride: windows are (T) tokens of one Int32Array, at least one token apart");
  const auto tokens = samples.As<Napi::TypedArray>().ElementLength();
  if (dataset.count > static_cast<int64_t>(tokens) || dataset.stride > static_cast<int64_t>(tokens))
    throw Error("SHAPE_MISMATCH", "samples: received " + std::to_string(tokens) + " tokens; " + std::to_string(dataset.count) +
                                      " windows, " + std::to_string(dataset.stride) + " tokens apart, take more");
  const int64_t needed = (dataset.count - 1) * dataset.stride + length + 1;
  if (static_cast<int64_t>(tokens) < needed)
    throw Error("SHAPE_MISMATCH", "samples: received " + std::to_string(tokens) + " tokens; " + std::to_string(dataset.count) +
                                      " windows of " + std::to_string(length) + " and the token after the last take " +
                                      std::to_string(needed));
  const std::byte* bytes = numbers(samples, "samples", Type::i32, tokens);
  dataset.samples.resize(tokens * size_of(Type::i32));
  std::memcpy(dataset.samples.data(), bytes, dataset.samples.size());
  // Of the copy: another thread may write to memory that it shares.
  const auto* found = reinterpret_cast<const int32_t*>(dataset.samples.data());
  for (size_t i = 0; i < tokens; ++i)
    if (found[i] < 0 || found[i] >= dataset.classes)
      throw Error("LABEL_OUT_OF_RANGE", "samples: token " + std::to_string(i) + " is " + std::to_string(found[i]) + "; tokens are 0 to " +
                                            std::to_string(dataset.classes - 1));
}

inline void check_extents(const char* what, const Shape& shape) {
  for (int64_t extent : shape)
    if (extent < 1 || extent > (1 << 28))
      throw Error("SHAPE_MISMATCH", std::string(what) + ": an extent of " + std::to_string(extent) + " is not possible");
}

inline void check_sample(const Shape& sample) {
  check_extents("sample", sample);
  if (sample.empty() || sample.size() > 4) throw Error("SHAPE_MISMATCH", "sample: give a shape of 1 to 4 extents");
}

// The shape of a sample's class numbers; empty where it has one.
inline Shape label_shape(const Napi::Object& from) {
  const Napi::Value given = property(from, "label");
  if (given.IsUndefined()) return {};
  const Shape label = shape(given, "label");
  check_extents("label", label);
  if (label.empty()) throw Error("SHAPE_MISMATCH", "label: received no extents; leave it out where a sample has one label");
  return label;
}

inline Shape target_shape(const Napi::Object& from) {
  const Shape target = shape(property(from, "target"), "target");
  if (target.empty()) throw Error("SHAPE_MISMATCH", "target: received no extents; give labels or targets with a shape");
  check_extents("target", target);
  return target;
}

// One class number a sample, or several, of which any may be kNoClass.
inline void read_labels(const Napi::Object& from, const Napi::Value& labels, Dataset& dataset) {
  dataset.classes = small(property(from, "classes"), "classes");
  dataset.label = label_shape(from);
  const size_t count = elements_of_all("label", static_cast<size_t>(dataset.count), dataset.label);
  const auto* found = reinterpret_cast<const int32_t*>(numbers(labels, "labels", Type::i32, count));
  dataset.labels.assign(found, found + count);
  const int32_t least = dataset.label.empty() ? 0 : kNoClass;
  const size_t each = count / static_cast<size_t>(dataset.count);
  for (size_t i = 0; i < count; ++i)
    if (dataset.labels[i] < least || dataset.labels[i] >= dataset.classes)
      throw Error("LABEL_OUT_OF_RANGE", "labels: sample " + std::to_string(i / each) + " has class " + std::to_string(dataset.labels[i]) +
                                            "; classes are 0 to " + std::to_string(dataset.classes - 1));
}

inline Dataset dataset(const Napi::Value& value) {
  const Napi::Object from = object(value, "dataset");
  Dataset dataset;
  dataset.count = integer(from, "count");
  if (dataset.count < 1)
    throw Error("INVALID_OPTION", "count: received " + std::to_string(dataset.count) + "; a data set has at least one sample");
  dataset.sample = shape(property(from, "sample"), "sample");
  check_sample(dataset.sample);

  const Napi::Value samples = property(from, "samples");
  if (samples.IsTypedArray()) {
    const napi_typedarray_type found = samples.As<Napi::TypedArray>().TypedArrayType();
    dataset.sample_type = found == napi_float32_array ? Type::f32 : found == napi_int32_array ? Type::i32 : Type::u8;
  }
  if (!property(from, "stride").IsUndefined()) {
    read_windows(from, samples, dataset);
    return dataset;
  }
  const size_t count = static_cast<size_t>(dataset.count);
  const size_t elements = elements_of_all("sample", count, dataset.sample);
  const std::byte* bytes = numbers(samples, "samples", dataset.sample_type, elements);
  dataset.samples.resize(elements * size_of(dataset.sample_type));
  std::memcpy(dataset.samples.data(), bytes, dataset.samples.size());

  const Napi::Value labels = property(from, "labels");
  if (!labels.IsUndefined()) {
    read_labels(from, labels, dataset);
    return dataset;
  }
  dataset.target = target_shape(from);
  const size_t numbers_of_targets = elements_of_all("target", count, dataset.target);
  const auto* found = reinterpret_cast<const float*>(numbers(property(from, "targets"), "targets", Type::f32, numbers_of_targets));
  dataset.targets.assign(found, found + numbers_of_targets);
  return dataset;
}

}  // namespace arbalest::js
