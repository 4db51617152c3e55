// A data set from JavaScript arrays, checked: nothing behind this needs to doubt a label again.
#pragma once

#include "../dataset.h"
#include "values.h"

namespace arbalest::js {

inline Dataset dataset(const Napi::Value& value) {
  const Napi::Object from = object(value, "dataset");
  Dataset dataset;
  dataset.count = integer(from, "count");
  if (dataset.count < 1)
    throw Error("INVALID_OPTION", "count: received " + std::to_string(dataset.count) + "; a data set has at least one sample");
  dataset.sample = shape(property(from, "sample"), "sample");
  for (int64_t extent : dataset.sample)
    if (extent < 1 || extent > (1 << 28))
      throw Error("SHAPE_MISMATCH", "sample: an extent of " + std::to_string(extent) + " is not possible");
  if (dataset.sample.empty() || dataset.sample.size() > 4) throw Error("SHAPE_MISMATCH", "sample: give a shape of 1 to 4 extents");

  const Napi::Value samples = property(from, "samples");
  const bool floats = samples.IsTypedArray() && samples.As<Napi::TypedArray>().TypedArrayType() == napi_float32_array;
  dataset.sample_type = floats ? Type::f32 : Type::u8;
  const size_t count = static_cast<size_t>(dataset.count);
  const size_t each = static_cast<size_t>(elements_of(dataset.sample));
  const std::byte* bytes = numbers(samples, "samples", dataset.sample_type, count * each);
  dataset.samples.resize(count * each * size_of(dataset.sample_type));
  std::memcpy(dataset.samples.data(), bytes, dataset.samples.size());

  const Napi::Value labels = property(from, "labels");
  if (!labels.IsUndefined()) {
    dataset.classes = static_cast<int32_t>(integer(from, "classes"));
    const auto* found = reinterpret_cast<const int32_t*>(numbers(labels, "labels", Type::i32, count));
    dataset.labels.assign(found, found + count);
    for (size_t i = 0; i < count; ++i)
      if (dataset.labels[i] < 0 || dataset.labels[i] >= dataset.classes)
        throw Error("LABEL_OUT_OF_RANGE", "labels: sample " + std::to_string(i) + " has class " + std::to_string(dataset.labels[i]) +
                                              "; classes are 0 to " + std::to_string(dataset.classes - 1));
    return dataset;
  }
  dataset.target = shape(property(from, "target"), "target");
  if (dataset.target.empty()) throw Error("SHAPE_MISMATCH", "target: received no extents; give labels or targets with a shape");
  for (int64_t extent : dataset.target)
    if (extent < 1 || extent > (1 << 28))
      throw Error("SHAPE_MISMATCH", "target: an extent of " + std::to_string(extent) + " is not possible");
  const size_t width = static_cast<size_t>(elements_of(dataset.target));
  const auto* found = reinterpret_cast<const float*>(numbers(property(from, "targets"), "targets", Type::f32, count * width));
  dataset.targets.assign(found, found + count * width);
  return dataset;
}

}  // namespace arbalest::js
