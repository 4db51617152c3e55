// The addon. Only this folder knows that JavaScript exists; src/engine/contract.ts is its other side.
#include "binding/calls.h"

namespace arbalest {
namespace {

Napi::Value release(const Info& info) {
  holder(info).release(static_cast<Handle>(js::integer(info[0], "handle")));
  return info.Env().Undefined();
}

Napi::Object initialise(Napi::Env env, Napi::Object addon) {
  env.SetInstanceData(new Holder);
  add<release>(addon, "release");
  add_machine_calls(addon);
  add_data_calls(addon);
  add_lease_calls(addon);
  add_replica_calls(addon);
  add_value_calls(addon);
  add_group_calls(addon);
  add_hosts_calls(addon);
  add_memory_calls(addon);
  add_snapshot_calls(addon);
  return addon;
}

}  // namespace

NODE_API_MODULE(arbalest, initialise)

}  // namespace arbalest
