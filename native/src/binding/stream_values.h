// A stream and its batches from JavaScript values and back.
#pragma once

#include "binding/dataset_values.h"
#include "binding/values.h"
#include "data/batch_stream.h"

namespace arbalest::js {

inline StreamSpec stream_spec(const Napi::Value& value) {
  const Napi::Object from = object(value, "stream");
  const auto from_one_to = [&](int64_t most, const char* name) {
    const int64_t found = integer(from, name);
    if (found < 1 || found > most)
      throw Error("INVALID_OPTION",
                  std::string(name) + ": received " + std::to_string(found) + "; give a number from 1 to " + std::to_string(most));
    return found;
  };
  constexpr int64_t kMost = int64_t{1} << 40;
  StreamSpec spec;
  spec.count = from_one_to(kMost, "count");
  Dataset& kind = spec.kind;
  kind.sample = shape(property(from, "sample"), "sample");
  check_sample(kind.sample);
  if (property(from, "target").IsUndefined()) {
    kind.classes = static_cast<int32_t>(from_one_to(std::numeric_limits<int32_t>::max(), "classes"));
    kind.label = label_shape(from);
  } else {
    kind.target = target_shape(from);
  }
  spec.batch = from_one_to(kMost, "batch");
  spec.slots = std::min<int64_t>(from_one_to(kMost, "slots"), 1 << 20);
  if (const Napi::Value range = property(from, "range"); !range.IsUndefined()) {
    const std::vector<int64_t> bounds = list(range, "range", [](const Napi::Value& each) { return integer(each, "range"); });
    if (bounds.size() != 2 || bounds[0] < 0 || bounds[1] <= bounds[0])
      throw Error("INVALID_OPTION", "range: give the first position and the one after the last");
    spec.from = static_cast<uint64_t>(bounds[0]);
    spec.until = static_cast<uint64_t>(bounds[1]);
  }
  return spec;
}

inline Napi::Object batch_order(Napi::Env env, const BatchStream::Order& order) {
  const BatchStream::Request& request = order.request;
  Napi::Object result = Napi::Object::New(env);
  result.Set("turn", static_cast<double>(order.turn));
  result.Set("position", static_cast<double>(request.position));
  result.Set("count", static_cast<double>(request.count));
  if (!request.samples.empty()) {
    Napi::Array samples = Napi::Array::New(env, request.samples.size());
    for (uint32_t i = 0; i < request.samples.size(); ++i) samples.Set(i, static_cast<double>(request.samples[i]));
    result.Set("samples", samples);
  }
  return result;
}

inline Napi::Object stream_status(Napi::Env env, const StreamStatus& status) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("filling", static_cast<double>(status.filling));
  result.Set("ready", static_cast<double>(status.ready));
  result.Set("taken", static_cast<double>(status.taken));
  result.Set("waiting", static_cast<double>(status.waiting));
  result.Set("batches", static_cast<double>(status.batches));
  result.Set("waitSeconds", status.wait_seconds);
  return result;
}

}  // namespace arbalest::js
