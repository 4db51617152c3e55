#include "cuda/host/host_collective.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/device_backend.h"
#include "cuda/host/host_stream.h"

namespace arbalest::cuda {
namespace {

// The state that the ranks' streams share with the collective.
class Outcome {
 public:
  bool is_given_up() {
    const std::lock_guard lock(mutex_);
    return given_up_;
  }
  void fail(const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = message;
  }
  // Fails with what `work` throws.
  template <class Work> void fail_with(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  void check() {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw Error("DEVICE_FAILED", failure_);
  }
  // Giving up lets the streams that wait for the event continue.
  std::shared_ptr<HostEvent> event() {
    auto made = std::make_shared<HostEvent>();
    const std::lock_guard lock(mutex_);
    while (!waited_for_.empty() && waited_for_.front().expired()) waited_for_.pop_front();
    waited_for_.push_back(made);
    if (given_up_) made->reach();
    return made;
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    for (const auto& each : waited_for_)
      if (const auto event = each.lock()) event->reach();
  }

 private:
  std::mutex mutex_;
  bool given_up_ = false;
  std::string failure_;
  std::deque<std::weak_ptr<HostEvent>> waited_for_;
};

// How a rank fails in a sum.
struct Fault {
  enum class Kind { sum, launch, device };
  int rank = -1;
  int64_t sum = 0;
  Kind kind = Kind::sum;

  bool is(size_t rank_, int64_t sum_, Kind kind_) const { return static_cast<int>(rank_) == rank && sum_ == sum && kind_ == kind; }
};

Fault wanted_fault() {
  Fault fault;
  const char* const wanted = std::getenv("ARBALEST_CUDA_HOST_FAULT");
  if (!wanted) return fault;
  const char* const end = wanted + std::strlen(wanted);
  const auto refuse = [wanted] {
    throw Error("INVALID_OPTION", std::string("ARBALEST_CUDA_HOST_FAULT: received ") + wanted + "; give a rank and a sum, as in 1:20");
  };
  const auto [colon, no_rank] = std::from_chars(wanted, end, fault.rank);
  if (no_rank != std::errc() || colon == end) refuse();
  const auto [kind, no_sum] = std::from_chars(colon + 1, end, fault.sum);
  if (no_sum != std::errc()) refuse();
  if (const std::string_view given(kind, end); given == ":launch")
    fault.kind = Fault::Kind::launch;
  else if (given == ":device")
    fault.kind = Fault::Kind::device;
  else if (!given.empty())
    refuse();
  return fault;
}

void add(const float* vector, std::vector<float>& sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
}

// In the order of ranks, those of other processes included.
void add_up(const std::vector<const float*>& own, Peers* peers, std::vector<float>& sum) {
  if (!peers) {
    for (const float* vector : own) add(vector, sum);
    return;
  }
  std::vector<float> vectors;
  for (const float* vector : own) vectors.insert(vectors.end(), vector, vector + sum.size());
  std::vector<float> all(vectors.size() * static_cast<size_t>(peers->size()));
  peers->gather(std::as_bytes(std::span(vectors)), std::as_writable_bytes(std::span(all)));
  for (size_t begin = 0; begin < all.size(); begin += sum.size()) add(all.data() + begin, sum);
}

class HostCollective final : public Collective {
 public:
  HostCollective(int devices, std::shared_ptr<Peers> peers) : devices_(devices), peers_(std::move(peers)) {}

  int rank() const override { return peers_ ? peers_->rank() * devices_ : 0; }
  int size() const override { return peers_ ? peers_->size() * devices_ : devices_; }

  void all_reduce(Type type, size_t count, std::span<const Place> places) override {
    if (type != Type::f32)
      throw Error("UNSUPPORTED_OPERATOR", "collective: received elements of another type than f32; the device's vectors have no other");
    std::vector<const float*> from;
    std::vector<std::shared_ptr<HostEvent>> arrived;
    for (size_t rank = 0; rank < places.size(); ++rank) {
      HostStream& stream = stream_of(places[rank]);
      from.push_back(static_cast<const float*>(stream.backend().seen(places[rank].from)));
      arrived.push_back(outcome_->event());
      const std::string failure = "device " + std::to_string(rank) + ": it failed, as it was told to";
      const auto fails = [&](Fault::Kind kind) { return fault_.is(rank, sums_, kind); };
      if (fails(Fault::Kind::launch)) {
        // The ranks before it wait for it in their streams.
        queue_sums(std::span(places).first(rank), outcome_->event(), nullptr);
        throw Error("DEVICE_FAILED", failure);
      }
      if (fails(Fault::Kind::device)) stream.submit([failure] { throw Error("DEVICE_FAILED", failure); });
      if (fails(Fault::Kind::sum)) {
        stream.submit([outcome = outcome_, failure] { outcome->fail(failure); });
        continue;
      }
      // A device that has failed brings nothing.
      stream.submit_kernel([event = arrived.back()] { event->reach(); });
    }
    const auto sum = std::make_shared<std::vector<float>>(count);
    const auto made = outcome_->event();
    stream_of(places.front()).submit_kernel([outcome = outcome_, peers = peers_, from, arrived, sum, made] {
      for (const auto& event : arrived) event->await();
      if (!outcome->is_given_up()) outcome->fail_with([&] { add_up(from, peers.get(), *sum); });
      made->reach();
    });
    queue_sums(places, made, sum);
    ++sums_;
  }

  void check() override { outcome_->check(); }
  void give_up() noexcept override {
    outcome_->give_up();
    if (peers_) peers_->give_up();
  }

 private:
  // Each rank waits until the sum is made, and takes it.
  void queue_sums(std::span<const Place> places, const std::shared_ptr<HostEvent>& made, const std::shared_ptr<std::vector<float>>& sum) {
    for (const Place& place : places) {
      HostStream& stream = stream_of(place);
      stream.submit_kernel([outcome = outcome_, sum, made, to = static_cast<float*>(stream.backend().seen(place.to))] {
        made->await();
        if (!outcome->is_given_up()) std::memcpy(to, sum->data(), sum->size() * sizeof(float));
      });
    }
  }

  static HostStream& stream_of(const Place& place) { return queue_of(static_cast<DeviceStream&>(*place.stream)); }

  const int devices_;
  const std::shared_ptr<Peers> peers_;
  const Fault fault_ = wanted_fault();
  const std::shared_ptr<Outcome> outcome_ = std::make_shared<Outcome>();
  int64_t sums_ = 0;
};

}  // namespace

std::unique_ptr<Collective> host_collective(int devices, std::shared_ptr<Peers> peers) {
  return std::make_unique<HostCollective>(devices, std::move(peers));
}

}  // namespace arbalest::cuda
