#include "device/staged_vectors.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "device/make_tier.h"

namespace arbalest {
namespace {

// The bytes of all windows that vectors share: this part of a vector, within these bounds.
constexpr size_t kPart = 8, kMost = size_t{64} << 20, kLeast = size_t{192} << 10;

// Those that a vector has of its own.
constexpr size_t kOwnWindows = StagedVectors::kTurns * kTransferUnit;

// Windows of a piece that threads share among them.
constexpr size_t kWindowsOfPiece = 8;

// Passes are moved by whole lines only, so that what is aligned stays so.
constexpr size_t kLine = 64;

bool is_plain(const TensorSpec& spec) { return spec.layout == kPlain; }

size_t largest_packed(const ParameterLayout& layout) {
  size_t most = 0;
  for (const PlacedParameter& parameter : layout.parameters)
    if (!is_plain(parameter.spec)) most = std::max(most, parameter.bytes);
  return most;
}

}  // namespace

// Bytes [from, until) of the operands, for one call of the device.
struct StagedVectors::Window {
  const Operands& operands;
  size_t from, until, turn;

  size_t bytes() const { return until - from; }
  // Where byte `from` of this operand lies on the device.
  std::byte* at(const void* operand) const;
  // Where its first line here begins; null for none. The elements of a pass are counted from there.
  std::byte* line(const void* operand) const { return operand ? at(operand) - from % kLine : nullptr; }
  template <class Pass> Pass elements_of(const Pass& pass) const;
  OptimiserPass of(const OptimiserPass& pass) const;
  // `summands`: room for the result's.
  AveragePass of(const AveragePass& pass, std::span<const void*> summands) const;

  // Begins transfer `turn`, which brings the operands that the pass reads to the device.
  void fetch() const;
  void settle_fetch() const;
  // Begins transfer `turn + kTurns`, which takes the operands that the pass writes back to their tier.
  void store() const;
  void settle_store() const;
};

// What a pass reads and writes: those of the second tier have windows.
class StagedVectors::Operands {
 public:
  explicit Operands(StagedVectors& vectors) : vectors_(vectors) {}

  void add(const void* address, bool reads, bool writes) {
    if (!address) return;
    const auto known = std::ranges::find(staged_, address, &Staged::address);
    if (known != staged_.end()) {
      known->reads |= reads;
      known->writes |= writes;
    } else if (const Place place = vectors_.find(address)) {
      staged_.push_back({address, place, reads, writes});
    }
  }
  void reads(const void* address) { add(address, true, false); }
  void writes(const void* address) { add(address, false, true); }
  void changes(const void* address) { add(address, true, true); }
  void add(const OptimiserPass& pass) {
    for (const void* read : {pass.weights, pass.gradients, pass.central}) reads(read);
    writes(pass.next);
    changes(pass.first);
    changes(pass.second);
    add(pass.contribution, pass.contribution_kind == OptimiserPass::ContributionKind::accumulation, true);
  }
  void add(const AveragePass& pass) {
    reads(pass.base);
    add(pass.to, pass.mu != 0, true);
    for (const void* summand : pass.summands) reads(summand);
  }

  bool empty() const { return staged_.empty(); }
  // After an error: no transfer of them is under way any more.
  void abandon() const {
    for (const Staged& each : staged_) each.place.vector->tier->abandon();
  }

 private:
  friend class StagedVectors;
  friend struct Window;
  struct Staged {
    const void* address;
    Place place;
    bool reads, writes;
  };

  // Bytes of each window of the shared ones; 0 where there are too many vectors for these.
  size_t shared_width() const { return vectors_.windows_.bytes() / (kTurns * staged_.size()) / kTransferUnit * kTransferUnit; }
  // Bytes of each window.
  size_t width() const { return std::max(shared_width(), kTransferUnit); }
  std::byte* window(size_t number, size_t turn) const {
    if (shared_width() == 0) return staged_[number].place.vector->windows.data() + turn * kTransferUnit;
    return vectors_.windows_.data() + (turn * staged_.size() + number) * shared_width();
  }
  // The byte there, which lies in its unit as it does in the second tier.
  std::byte* byte(size_t number, size_t turn, size_t at) const {
    return window(number, turn) + (staged_[number].place.offset + at) % kTransferUnit;
  }

  StagedVectors& vectors_;
  std::vector<Staged> staged_;
};

std::byte* StagedVectors::Window::at(const void* operand) const {
  const auto found = std::ranges::find(operands.staged_, operand, &Operands::Staged::address);
  if (found != operands.staged_.end()) return operands.byte(static_cast<size_t>(found - operands.staged_.begin()), turn, from);
  return static_cast<std::byte*>(const_cast<void*>(operand)) + from;
}

template <class Pass> Pass StagedVectors::Window::elements_of(const Pass& pass) const {
  Pass own = pass;
  own.begin = from % kLine / size_of(pass.type);
  own.end = own.begin + bytes() / size_of(pass.type);
  return own;
}

OptimiserPass StagedVectors::Window::of(const OptimiserPass& pass) const {
  OptimiserPass own = elements_of(pass);
  own.weights = line(pass.weights);
  own.next = line(pass.next);
  own.gradients = line(pass.gradients);
  own.first = line(pass.first);
  own.second = line(pass.second);
  own.central = line(pass.central);
  own.contribution = line(pass.contribution);
  return own;
}

AveragePass StagedVectors::Window::of(const AveragePass& pass, std::span<const void*> summands) const {
  AveragePass own = elements_of(pass);
  own.base = line(pass.base);
  own.to = line(pass.to);
  std::ranges::transform(pass.summands, summands.begin(), [&](const void* summand) { return line(summand); });
  own.summands = summands;
  return own;
}

void StagedVectors::Window::fetch() const {
  for (size_t i = 0; i < operands.staged_.size(); ++i) {
    const Operands::Staged& each = operands.staged_[i];
    if (each.reads) each.place.vector->tier->fetch(turn, each.place.offset + from, operands.byte(i, turn, from), bytes());
  }
}

void StagedVectors::Window::settle_fetch() const {
  for (const Operands::Staged& each : operands.staged_)
    if (each.reads) each.place.vector->tier->settle(turn);
}

void StagedVectors::Window::store() const {
  for (size_t i = 0; i < operands.staged_.size(); ++i) {
    const Operands::Staged& each = operands.staged_[i];
    if (each.writes) each.place.vector->tier->store(turn + kTurns, operands.byte(i, turn, from), each.place.offset + from, bytes());
  }
}

void StagedVectors::Window::settle_store() const {
  for (const Operands::Staged& each : operands.staged_)
    if (each.writes) each.place.vector->tier->settle(turn + kTurns);
}

std::shared_ptr<StagedVectors> StagedVectors::make(Backend& device, const ParameterLayout& layout, std::optional<HostTierSpec> tier) {
  return std::shared_ptr<StagedVectors>(new StagedVectors(device, layout, std::move(tier)));
}

StagedVectors::StagedVectors(Backend& device, const ParameterLayout& layout, std::optional<HostTierSpec> tier, StagedVectors* first)
    : device_(device),
      layout_(layout),
      tier_(std::move(tier)),
      first_(first),
      windows_(device, whole_units(std::clamp(layout.bytes / kPart, kLeast, kMost))),
      buffer_(device, largest_packed(layout)) {}

Backend& StagedVectors::device(int number) {
  if (first_) return first_->device(number);
  if (number == 0 || !capabilities().own_memory) return *this;
  const std::unique_lock lock(places_);
  if (others_.size() < static_cast<size_t>(number)) others_.resize(static_cast<size_t>(number));
  auto& other = others_[static_cast<size_t>(number) - 1];
  if (!other) other.reset(new StagedVectors(device_.device(number), layout_, tier_, this));
  return *other;
}

StagedVectors& StagedVectors::on(Backend& device) {
  for (int number = 0; number < device_count(); ++number) {
    auto& here = static_cast<StagedVectors&>(this->device(number));
    if (&device == &here || &device == &here.device_) return here;
    if (!capabilities().own_memory) break;
  }
  throw Error("INTERNAL", "vectors: they are asked for on a device of another backend; report this");
}

void StagedVectors::begin_fetch(size_t transfer, const void* from, void* to, size_t bytes) {
  const Place place = find(from);
  const std::unique_lock lock = device_lock();
  place.vector->tier->fetch(transfer, place.offset, to, bytes);
}

void StagedVectors::begin_store(size_t transfer, const void* from, void* to, size_t bytes) {
  const Place place = find(to);
  const std::unique_lock lock = device_lock();
  place.vector->tier->store(transfer, from, place.offset, bytes);
}

void StagedVectors::settle(size_t transfer, const void* vector) {
  const std::unique_lock lock = device_lock();
  find(vector).vector->tier->settle(transfer);
}

// Behind a GPU the calls of a tier queue work and return, and are made one at a time. Else they wait, and may be made at once.
std::unique_lock<std::mutex> StagedVectors::device_lock() {
  return capabilities().own_memory ? std::unique_lock(streaming_) : std::unique_lock<std::mutex>();
}

size_t StagedVectors::own_window_bytes() const {
  const std::shared_lock lock(places_);
  return kOwnWindows * vectors_.size();
}

void* StagedVectors::take(size_t bytes) {
  void* const address = mmap(nullptr, whole_units(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw Error("OUT_OF_MEMORY", "memory: no addresses are left for " + std::to_string(bytes) + " bytes; raise the limit (ulimit -v)");
  try {
    Vector vector{bytes, nullptr, {}};
    if (tier_) vector = {bytes, make_exact_tier(device_, bytes, *tier_), Memory(device_, kOwnWindows)};
    const std::unique_lock lock(places_);
    vectors_.emplace(reinterpret_cast<uintptr_t>(address), std::move(vector));
  } catch (...) {
    munmap(address, whole_units(bytes));
    throw;
  }
  // A file is zeros from the beginning; pinned memory is not.
  if (capabilities().own_memory) {
    zero(address, bytes);
    device_.synchronise();
  }
  return address;
}

void StagedVectors::give_back(void* memory, size_t bytes) noexcept {
  if (!memory) return;
  {
    const std::unique_lock lock(places_);
    vectors_.erase(reinterpret_cast<uintptr_t>(memory));
  }
  munmap(memory, whole_units(bytes));
}

StagedVectors::Place StagedVectors::find(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::shared_lock lock(places_);
  const auto after = vectors_.upper_bound(at);
  if (after == vectors_.begin()) return {};
  const auto& [first, vector] = *std::prev(after);
  return at - first < vector.bytes ? Place{&vector, at - first} : Place{};
}

bool StagedVectors::has(const void* address) const { return static_cast<bool>(find(address)); }

std::vector<StagedVectors::Window> StagedVectors::windows_of(const Operands& operands, size_t begin, size_t end) {
  const auto& staged = operands.staged_;
  const size_t lead = staged.front().place.offset;
  if (std::ranges::any_of(staged, [&](const auto& each) { return (each.place.offset - lead) % kTransferUnit != 0; }))
    throw Error("INTERNAL", "vectors: a pass takes them from different places; report this");
  // Windows end with a unit, and have room for the part of a unit before them.
  const size_t width = operands.width();
  std::vector<Window> windows;
  for (size_t from = begin; from < end;) {
    const size_t until = std::min(end, (lead + from) / kTransferUnit * kTransferUnit + width - lead);
    windows.push_back({operands, from, until, windows.size() % kTurns});
    from = until;
  }
  return windows;
}

void StagedVectors::run_in_windows(const Operands& operands, size_t begin, size_t end, const std::function<void(const Window&)>& run) {
  if (!tier_ || begin >= end) return;
  const std::lock_guard lock(streaming_);
  if (failure_) std::rethrow_exception(failure_);
  const std::vector<Window> windows = windows_of(operands, begin, end);
  try {
    device_.queue_after(used_);
    windows.front().fetch();
    for (size_t i = 0; i < windows.size(); ++i) {
      if (i + 1 < windows.size()) {
        if (i + 1 >= kTurns) windows[i + 1 - kTurns].settle_store();
        windows[i + 1].fetch();
      }
      windows[i].settle_fetch();
      run(windows[i]);
      windows[i].store();
    }
    for (size_t i = windows.size() - std::min(windows.size(), kTurns); i < windows.size(); ++i) windows[i].settle_store();
    used_ = device_.mark();
  } catch (...) {
    failure_ = std::current_exception();
    operands.abandon();
    throw;
  }
}

void StagedVectors::optimise(const OptimiserPass& pass) {
  Operands operands(*this);
  operands.add(pass);
  if (operands.empty()) return device_.optimise(pass);
  run_in_windows(operands, pass.begin * size_of(pass.type), pass.end * size_of(pass.type),
                 [&](const Window& window) { device_.optimise(window.of(pass)); });
}

void StagedVectors::average(const AveragePass& pass) {
  Operands operands(*this);
  operands.add(pass);
  if (operands.empty()) return device_.average(pass);
  std::vector<const void*> summands(pass.summands.size());
  run_in_windows(operands, pass.begin * size_of(pass.type), pass.end * size_of(pass.type),
                 [&](const Window& window) { device_.average(window.of(pass, summands)); });
}

void StagedVectors::optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) {
  Operands operands(*this);
  for (const OptimiserPass& step : steps) operands.add(step);
  operands.add(sum);
  if (operands.empty()) return device_.optimise_and_average(steps, sum);
  std::vector<const void*> summands(sum.summands.size());
  std::vector<OptimiserPass> own(steps.size());
  run_in_windows(operands, sum.begin * size_of(sum.type), sum.end * size_of(sum.type), [&](const Window& window) {
    std::ranges::transform(steps, own.begin(), [&](const OptimiserPass& step) { return window.of(step); });
    device_.optimise_and_average(own, window.of(sum, summands));
  });
}

void StagedVectors::blend(const BlendPass& pass) {
  Operands operands(*this);
  operands.reads(pass.from);
  operands.reads(pass.towards);
  operands.writes(pass.to);
  if (operands.empty()) return device_.blend(pass);
  run_in_windows(operands, pass.begin * size_of(pass.type), pass.end * size_of(pass.type), [&](const Window& window) {
    BlendPass own = window.elements_of(pass);
    own.from = window.line(pass.from);
    own.towards = window.line(pass.towards);
    own.to = window.line(pass.to);
    device_.blend(own);
  });
}

void StagedVectors::squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) {
  if (std::ranges::none_of(parts, [this](const VectorPart& part) { return has(part.vector); })) return device_.squares(type, parts, sums);
  for (size_t i = 0; i < parts.size(); ++i) {
    const VectorPart& part = parts[i];
    sums[i] = 0;
    Operands operands(*this);
    operands.reads(part.vector);
    if (operands.empty()) {
      device_.squares(type, {&part, 1}, {&sums[i], 1});
      continue;
    }
    run_in_windows(operands, part.begin * size_of(type), part.end * size_of(type), [&](const Window& window) {
      const VectorPart own{window.at(part.vector), 0, window.bytes() / size_of(type)};
      double squares = 0;
      device_.squares(type, {&own, 1}, {&squares, 1});
      sums[i] += squares;
    });
  }
}

size_t StagedVectors::piece() const {
  return std::max(device_.piece(), kWindowsOfPiece * windows_.bytes() / (2 * kTurns) / size_of(layout_.type()));
}

void StagedVectors::copy(void* to, const void* from, size_t bytes) {
  Operands operands(*this);
  operands.reads(from);
  operands.writes(to);
  if (operands.empty()) return device_.copy(to, from, bytes);
  run_in_windows(operands, 0, bytes, [&](const Window& window) { device_.copy(window.at(to), window.at(from), window.bytes()); });
}

void StagedVectors::zero(void* to, size_t bytes) {
  Operands operands(*this);
  operands.writes(to);
  if (operands.empty()) return device_.zero(to, bytes);
  run_in_windows(operands, 0, bytes, [&](const Window& window) { device_.zero(window.at(to), window.bytes()); });
}

void StagedVectors::read(void* to, const void* from, size_t bytes) {
  Operands operands(*this);
  operands.reads(from);
  if (operands.empty()) return device_.read(to, from, bytes);
  run_in_windows(operands, 0, bytes,
                 [&](const Window& window) { device_.read(static_cast<std::byte*>(to) + window.from, window.at(from), window.bytes()); });
}

void StagedVectors::write(void* to, const void* from, size_t bytes) {
  Operands operands(*this);
  operands.writes(to);
  if (operands.empty()) return device_.write(to, from, bytes);
  run_in_windows(operands, 0, bytes, [&](const Window& window) {
    device_.write(window.at(to), static_cast<const std::byte*>(from) + window.from, window.bytes());
  });
}

// The other tensor lies in the caller's memory.
void StagedVectors::reorder(const Tensor& from, const Tensor& to) {
  const bool reads = has(from.data);
  if (!reads && !has(to.data)) return device_.reorder(from, to);
  if (is_plain(from.spec) && is_plain(to.spec) && from.spec.type == to.spec.type) {
    const size_t bytes = static_cast<size_t>(elements_of(from.spec.shape)) * size_of(from.spec.type);
    return reads ? read(to.data, from.data, bytes) : write(to.data, from.data, bytes);
  }
  const std::lock_guard lock(reordering_);
  const TensorSpec& spec = reads ? from.spec : to.spec;
  const size_t bytes = device_.bytes(spec);
  if (bytes > buffer_.bytes())
    throw Error("INTERNAL", "vectors: a tensor of " + std::to_string(bytes) + " bytes has no room to be reordered; report this");
  const Tensor here{spec, buffer_.data()};
  if (reads) copy(here.data, from.data, bytes);
  device_.reorder(reads ? here : from, reads ? to : here);
  if (!reads) copy(to.data, here.data, bytes);
  device_.synchronise();
}

}  // namespace arbalest
