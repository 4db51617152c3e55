#include "device/transfer_rates.h"

#include "core/clock.h"
#include "core/transfers.h"
#include "device/make_tier.h"
#include "device/parameter_vectors.h"

namespace arbalest {

TransferRates measure_transfers(Backend& backend, size_t bytes, const HostTierSpec& spec) {
  const std::unique_ptr<Stream> stream = backend.stream();
  const UsedStream used(backend, stream.get());
  const Memory memory(backend, whole_units(bytes));
  const std::unique_ptr<HostTier> tier = make_tier(backend, memory.bytes(), spec);
  const auto rate = [&](auto&& begin) {
    const Clock::time_point start = Clock::now();
    begin();
    tier->settle(0);
    backend.synchronise();
    return static_cast<double>(memory.bytes()) / seconds_since(start);
  };
  const auto store = [&] { tier->store(0, memory.data(), 0, memory.bytes()); };
  // The first writes of a file take longer: its blocks are not initialised.
  rate(store);
  const double stored = rate(store);
  return {stored, rate([&] { tier->fetch(0, 0, memory.data(), memory.bytes()); })};
}

}  // namespace arbalest
