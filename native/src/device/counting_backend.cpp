#include "device/counting_backend.h"

#include <algorithm>

namespace arbalest {
namespace {

// The ranks of a group whose sums are never started.
class IdleCollective final : public Collective {
 public:
  explicit IdleCollective(int devices) : devices_(devices) {}
  int rank() const override { return 0; }
  int size() const override { return devices_; }
  void all_reduce(Type, size_t, std::span<const Place>) override {}
  void check() override {}
  void give_up() noexcept override {}

 private:
  const int devices_;
};

}  // namespace

std::vector<size_t> CountingBackend::allocated() const {
  std::vector<size_t> all{meter().now()};
  for (const auto& other : others_) all.push_back(other->meter().now());
  return all;
}

Backend& CountingBackend::device(int number) {
  if (&first_ != this) return first_.device(number);
  if (number == 0 || !capabilities().own_memory) return *this;
  while (others_.size() < static_cast<size_t>(number)) {
    const int next = static_cast<int>(others_.size()) + 1;
    others_.emplace_back(new CountingBackend(counted_.device(next), *this));
  }
  return *others_[static_cast<size_t>(number) - 1];
}

std::unique_ptr<Collective> CountingBackend::collective(int devices, std::shared_ptr<Peers>) {
  return capabilities().own_memory ? std::make_unique<IdleCollective>(devices) : nullptr;
}

std::unique_ptr<Kernel> CountingBackend::make(const OperatorSpec& spec) {
  throw Error("INTERNAL", "operator " + spec.name + ": a backend that counts memory has no kernels; report this");
}

void CountingBackend::squares(Type, std::span<const VectorPart>, std::span<double> sums) { std::ranges::fill(sums, 0); }

void* CountingBackend::take(size_t bytes) {
  constexpr uintptr_t kAligned = 64;
  const uintptr_t address = next_;
  next_ += (bytes + kAligned - 1) / kAligned * kAligned;
  return reinterpret_cast<void*>(address);
}

}  // namespace arbalest
