// Where a second tier of memory lies, from JavaScript.
#pragma once

#include "binding/values.h"
#include "device/host_tier.h"

namespace arbalest::js {

inline TransferTiming transfer_timing(const Napi::Value& value) {
  using enum TransferTiming::When;
  if (value.IsNumber()) return {random, static_cast<uint64_t>(integer(value, "timing"))};
  const std::string name = string(value, "timing");
  if (name == "earliest") return {earliest};
  if (name == "latest") return {latest};
  throw Error("INVALID_OPTION", "timing: received " + name + "; use earliest, latest or a seed");
}

inline HostTierSpec host_tier(const Napi::Value& value) {
  HostTierSpec spec;
  if (value.IsUndefined()) return spec;
  const Napi::Object from = object(value, "tier");
  const Napi::Value folder = property(from, "folder"), timing = property(from, "timing");
  if (!folder.IsUndefined()) spec.folder = string(folder, "folder");
  if (!timing.IsUndefined()) spec.timing = transfer_timing(timing);
  return spec;
}

}  // namespace arbalest::js
