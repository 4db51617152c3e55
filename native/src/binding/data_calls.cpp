// Data sets in memory, and streams of batches.
#include "binding/calls.h"
#include "binding/dataset_values.h"
#include "binding/objects.h"
#include "binding/stream_values.h"
#include "binding/typed_arrays.h"
#include "binding/wake_up.h"

namespace arbalest {
namespace {

Napi::Value create_dataset(const Info& info) {
  return handle(info, std::make_shared<SourceObject>(Source{std::make_shared<Dataset>(js::dataset(info[0])), nullptr}));
}

Napi::Value create_stream(const Info& info) {
  return handle(info, std::make_shared<SourceObject>(Source{nullptr, std::make_shared<BatchStream>(js::stream_spec(info[0]))}));
}

BatchStream& stream(const Info& info) {
  const auto source = object_of<SourceObject>(info, 0);
  if (!source->stream) throw Error("STALE_HANDLE", "handle: received a data set in memory where a stream is needed");
  return *source->stream;
}

Napi::Value next_batch(const Info& info) {
  const std::optional<BatchStream::Order> order = stream(info).next(js::string(info[1], "which") == "ahead");
  return order ? js::batch_order(info.Env(), *order) : info.Env().Null();
}

BatchStream::Targets targets_of(const Napi::TypedArray& given) {
  const size_t count = given.ElementLength();
  if (given.TypedArrayType() == napi_float32_array)
    return std::span(reinterpret_cast<const float*>(js::numbers(given, "targets", Type::f32, count)), count);
  return std::span(reinterpret_cast<const int32_t*>(js::numbers(given, "labels", Type::i32, count)), count);
}

Napi::Value feed_batch(const Info& info) {
  BatchStream& fed = stream(info);
  if (!info[2].IsTypedArray() || !info[3].IsTypedArray())
    js::wrong("batch", "samples as a Uint8Array, and labels as an Int32Array or targets as a Float32Array");
  const size_t bytes = info[2].As<Napi::TypedArray>().ElementLength();
  fed.feed(js::natural(info[1], "turn"), {js::numbers(info[2], "samples", Type::u8, bytes), bytes},
           targets_of(info[3].As<Napi::TypedArray>()));
  return info.Env().Undefined();
}

Napi::Value watch_stream(const Info& info) {
  BatchStream& watched = stream(info);
  if (!info[1].IsFunction()) js::wrong("wake", "a function");
  watched.watch(wake_up(info.Env(), info[1].As<Napi::Function>()));
  return info.Env().Undefined();
}

Napi::Value stream_status(const Info& info) { return js::stream_status(info.Env(), stream(info).status()); }

}  // namespace

void add_data_calls(Napi::Object& addon) {
  add<create_dataset>(addon, "createDataset");
  add<create_stream>(addon, "createStream");
  add<next_batch>(addon, "nextBatch");
  add<feed_batch>(addon, "feedBatch");
  add<watch_stream>(addon, "watchStream");
  add<stream_status>(addon, "streamStatus");
}

}  // namespace arbalest
