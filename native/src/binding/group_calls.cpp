// Groups: their members, their rounds, their central model.
#include <cmath>
#include <cstring>

#include "binding/calls.h"
#include "binding/group_values.h"
#include "binding/objects.h"
#include "binding/typed_arrays.h"
#include "device/backends.h"

namespace arbalest {
namespace {

Napi::Value create_rated_link(const Info& info) {
  const Napi::Object from = js::object(info[0], "link");
  const double bytes_per_second = js::number(from, "bytesPerSecond");
  if (!(bytes_per_second >= 1))
    throw Error("INVALID_OPTION", "bytesPerSecond: received " + std::to_string(bytes_per_second) + "; give at least 1");
  return handle(info, std::make_shared<RatedLinkObject>(js::latency(from), bytes_per_second));
}

Napi::Value create_group(const Info& info) {
  const Napi::Object from = js::object(info[0], "group");
  Backend& backend = backend_named(js::string(from, "backend"));
  GroupSpec spec = js::group_spec(from, holder(info));
  spec.moved = moved_vectors(info, js::property(from, "moved"));
  for (LevelSpec& level : spec.levels) js::number_level(level);
  const std::byte* initial = js::numbers(js::property(from, "initial"), "initial", spec.layout.type(), spec.layout.elements);
  return handle(info, std::make_shared<GroupObject>(GroupObject{make_group(backend, std::move(spec), initial)}));
}

// Begin and end of each bucket, one after the other.
Napi::Value level_buckets(const Info& info) {
  const ParameterLayout layout = js::parameter_layout(info[0]);
  const std::vector<Bucket> buckets = level_buckets(js::synchronous_rule(js::object(info[1], "rule")), layout);
  return js::new_numbers(info.Env(), Type::f64, 2 * buckets.size(), [&](std::byte* out) {
    auto* const numbers = reinterpret_cast<double*>(out);
    for (size_t i = 0; i < buckets.size(); ++i) {
      numbers[2 * i] = static_cast<double>(buckets[i].begin);
      numbers[2 * i + 1] = static_cast<double>(buckets[i].end);
    }
  });
}

int learner(const Info& info) { return js::small(info[1], "learner"); }

Napi::Value join(const Info& info) {
  const bool resumed = info[2].ToBoolean();
  const int device = info[3].IsUndefined() ? 0 : js::small(info[3], "device");
  return Napi::Number::New(info.Env(), static_cast<double>(group_of(info)->join(learner(info), resumed, device)));
}

Departure departure_from(const Napi::Object& from) {
  return {js::integer(from, "round"), js::integer(from, "iteration"), js::integer(from, "iterations"), js::integer(from, "until"),
          js::list(js::property(from, "brought"), "brought", [](const Napi::Value& bucket) { return js::small(bucket, "brought"); })};
}

Napi::Value evict(const Info& info) {
  const Napi::Env env = info.Env();
  std::optional<Departure> planned;
  if (!info[2].IsUndefined()) planned = departure_from(js::object(info[2], "planned"));
  const auto departure = group_of(info)->evict(learner(info), std::move(planned));
  if (!departure) return env.Null();
  Napi::Object result = Napi::Object::New(env);
  result.Set("round", static_cast<double>(departure->round));
  result.Set("iteration", static_cast<double>(departure->iteration));
  result.Set("iterations", static_cast<double>(departure->iterations));
  result.Set("until", static_cast<double>(departure->until));
  result.Set("brought", js::array(env, departure->brought));
  return result;
}

Napi::Value depart(const Info& info) {
  group_of(info)->depart(learner(info), departure_from(js::object(info[2], "departure")));
  return info.Env().Undefined();
}

Napi::Value set_rates(const Info& info) {
  const auto group = group_of(info);
  if (!info[2].IsTypedArray()) js::wrong("rates", "a Float32Array");
  const size_t count = info[2].As<Napi::TypedArray>().ElementLength();
  const auto* rates = reinterpret_cast<const float*>(js::numbers(info[2], "rates", Type::f32, count));
  group->set_rates(js::integer(info[1], "fromIteration"), {rates, count});
  return info.Env().Undefined();
}

Napi::Value set_restarts(const Info& info) {
  group_of(info)->set_restarts(js::list(info[1], "rounds", [](const Napi::Value& round) { return js::integer(round, "round"); }));
  return info.Env().Undefined();
}

// The number of a round or an iteration; Infinity stands for never.
int64_t number_or_never(const Napi::Value& value, const char* what) {
  const double found = js::number(value, what);
  return std::isinf(found) && found > 0 ? kNever : js::integer(value, what);
}

Napi::Value set_pause(const Info& info) {
  group_of(info)->set_pause(number_or_never(info[1], "round"));
  return info.Env().Undefined();
}

Napi::Value extend_pause(const Info& info) {
  return Napi::Boolean::New(info.Env(), group_of(info)->extend_pause(number_or_never(info[1], "round")));
}

Napi::Value set_end(const Info& info) {
  group_of(info)->set_end(number_or_never(info[1], "iterations"));
  return info.Env().Undefined();
}

Napi::Value set_rule(const Info& info) {
  const Napi::Object from = js::object(info[1], "change");
  RuleChange change;
  if (const Napi::Value alpha = js::property(from, "alpha"); !alpha.IsUndefined())
    change.alpha = alpha.IsNull() ? std::nullopt : std::optional(js::number(alpha, "alpha"));
  if (const Napi::Value momentum = js::property(from, "momentum"); !momentum.IsUndefined())
    change.momentum = js::number(momentum, "momentum");
  if (const Napi::Value period = js::property(from, "period"); !period.IsUndefined()) change.period = js::integer(period, "period");
  group_of(info)->set_rule(change);
  return info.Env().Undefined();
}

Napi::Value stop(const Info& info) {
  group_of(info)->stop();
  return info.Env().Undefined();
}

// Writes numbers, as many as there is room for, and returns how many there are.
Napi::Value group_status(const Info& info) {
  napi_typedarray_type type;
  size_t room = 0;
  void* out = nullptr;
  // One call for all three: this is asked for often, by a thread whose caches the learners have filled.
  if (napi_get_typedarray_info(info.Env(), info[1], &type, &room, &out, nullptr, nullptr) != napi_ok || type != napi_float64_array)
    js::wrong("numbers", "a Float64Array");
  const GroupStatus status = group_of(info)->status();
  size_t count = 0;
  const auto put = [&](auto number) {
    if (count < room) static_cast<double*>(out)[count] = static_cast<double>(number);
    ++count;
  };
  put(status.round);
  put(status.iterations);
  put(status.position);
  put(status.not_finite_at);
  put(status.members.size());
  for (const int learner : status.members) put(learner);
  for (const int learner : status.arrived) put(learner);
  return Napi::Number::New(info.Env(), static_cast<double>(count));
}

Napi::Value iteration_of(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(group_of(info)->iteration_of(js::small(info[1], "learner"))));
}

Napi::Value losses(const Info& info) {
  const std::vector<float> losses = group_of(info)->losses(js::integer(info[1], "fromIteration"));
  return js::new_numbers(info.Env(), Type::f32, losses.size(),
                         [&](std::byte* out) { std::memcpy(out, losses.data(), losses.size() * sizeof(float)); });
}

Napi::Value read_central(const Info& info) {
  const auto group = group_of(info);
  return js::new_numbers(info.Env(), group->layout().type(), group->layout().elements,
                         [&](std::byte* canonical) { group->read_central(canonical); });
}

Napi::Value is_finite(const Info& info) { return Napi::Boolean::New(info.Env(), group_of(info)->is_finite()); }

// Each span is four numbers: its level (-1 for the rule), its round, its start and its end in seconds.
Napi::Value averaging_spans(const Info& info) {
  std::vector<double> numbers;
  for (const auto& [level, round, start, end] : group_of(info)->averaging_spans())
    numbers.insert(numbers.end(), {static_cast<double>(level), static_cast<double>(round), start, end});
  return js::new_numbers(info.Env(), Type::f64, numbers.size(),
                         [&](std::byte* out) { std::memcpy(out, numbers.data(), numbers.size() * sizeof(double)); });
}

// A distance that nothing tells is null.
Napi::Value distance(Napi::Env env, double value) { return std::isnan(value) ? env.Null() : Napi::Value(Napi::Number::New(env, value)); }

Napi::Value figures_of(Napi::Env env, const std::vector<RoundFigures>& rounds) {
  Napi::Array result = Napi::Array::New(env, rounds.size());
  for (uint32_t i = 0; i < rounds.size(); ++i) {
    const RoundFigures& round = rounds[i];
    Napi::Array members = Napi::Array::New(env, round.members.size());
    for (uint32_t j = 0; j < round.members.size(); ++j) {
      Napi::Object member = Napi::Object::New(env);
      member.Set("learner", round.members[j].learner);
      member.Set("distance", distance(env, round.members[j].distance));
      member.Set("waited", round.members[j].waited);
      members.Set(j, member);
    }
    Napi::Object each = Napi::Object::New(env);
    each.Set("round", static_cast<double>(round.round));
    each.Set("iteration", static_cast<double>(round.iteration));
    each.Set("began", round.began);
    each.Set("seconds", round.seconds);
    each.Set("averaged", round.averaged);
    each.Set("loss", round.loss);
    each.Set("members", members);
    result.Set(i, each);
  }
  return result;
}

Napi::Value round_figures(const Info& info) {
  return figures_of(info.Env(), group_of(info)->round_figures(js::integer(info[1], "afterRound")));
}

Napi::Value sampled_figures(const Info& info) {
  return figures_of(info.Env(), group_of(info)->sampled_figures(js::integer(info[1], "afterRound")));
}

Napi::Value write_central(const Info& info) {
  const auto group = group_of(info);
  group->write_central(js::numbers(info[1], "weights", group->layout().type(), group->layout().elements));
  return info.Env().Undefined();
}

}  // namespace

void add_group_calls(Napi::Object& addon) {
  add<create_rated_link>(addon, "createRatedLink");
  add<create_group>(addon, "createGroup");
  add<level_buckets>(addon, "levelBuckets");
  add<join>(addon, "join");
  add<evict>(addon, "evict");
  add<depart>(addon, "depart");
  add<set_rates>(addon, "setLearningRates");
  add<set_restarts>(addon, "setRestarts");
  add<set_pause>(addon, "setPause");
  add<extend_pause>(addon, "extendPause");
  add<set_end>(addon, "setEnd");
  add<set_rule>(addon, "setRule");
  add<stop>(addon, "stop");
  add<group_status>(addon, "groupStatus");
  add<iteration_of>(addon, "iterationOf");
  add<losses>(addon, "losses");
  add<read_central>(addon, "readCentral");
  add<is_finite>(addon, "isFinite");
  add<averaging_spans>(addon, "averagingSpans");
  add<round_figures>(addon, "roundFigures");
  add<sampled_figures>(addon, "sampledFigures");
  add<write_central>(addon, "writeCentral");
}

}  // namespace arbalest
