#include "device/transfer_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/blocked_signals.h"
#include "core/error.h"

namespace arbalest {
namespace {

// Between two pieces it is seen whether the transfers have been given up. Large enough for a disk to be read at its full rate.
constexpr size_t kPiece = size_t{4} << 20;

// Not a number in every element type with a sign.
constexpr int kPoison = 0xff;

class MemoryStorage final : public TierStorage {
 public:
  explicit MemoryStorage(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw Error("OUT_OF_MEMORY", "memory: " + std::to_string(bytes) + " bytes for moved values are not to be had; move fewer");
    memory_ = static_cast<std::byte*>(memory);
  }
  ~MemoryStorage() override { munmap(memory_, bytes_); }
  void write(size_t offset, const std::byte* from, size_t bytes) override { std::memcpy(memory_ + offset, from, bytes); }
  void read(size_t offset, std::byte* to, size_t bytes) override { std::memcpy(to, memory_ + offset, bytes); }

 private:
  const size_t bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<TierStorage> memory_storage(size_t bytes) { return std::make_unique<MemoryStorage>(bytes); }

TransferQueue::TransferQueue(std::unique_ptr<TierStorage> storage, std::optional<TransferTiming> timing)
    : storage_(std::move(storage)), timing_(timing), chance_(timing ? timing->seed : 0), thread_([this] { work(); }) {}

TransferQueue::~TransferQueue() {
  abandon();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void TransferQueue::store(size_t transfer, const void* from, size_t offset, size_t bytes) {
  begin({transfer, offset, bytes, static_cast<std::byte*>(const_cast<void*>(from)), true});
}

void TransferQueue::fetch(size_t transfer, size_t offset, void* to, size_t bytes) {
  if (timing_) std::memset(to, kPoison, bytes);
  begin({transfer, offset, bytes, static_cast<std::byte*>(to), false});
}

void TransferQueue::begin(Transfer transfer) {
  const std::lock_guard lock(mutex_);
  transfer.waits = timing_ && delayed();
  queue_.push_back(transfer);
  unsettled_.push_back(transfer.number);
  changed_.notify_all();
}

void TransferQueue::settle(size_t number) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find(unsettled_, number);
  if (found == unsettled_.end()) return;
  unsettled_.erase(found);
  const auto queued = [&] { return std::ranges::find(queue_, number, &Transfer::number); };
  // Those before it come first.
  if (const auto mine = queued(); mine != queue_.end()) std::for_each(queue_.begin(), mine + 1, [](Transfer& each) { each.waits = false; });
  changed_.notify_all();
  changed_.wait(lock, [&] { return failure_ || queued() == queue_.end(); });
  if (failure_) std::rethrow_exception(failure_);
}

void TransferQueue::abandon() noexcept {
  std::unique_lock lock(mutex_);
  unsettled_.clear();
  abandons_ = true;
  queue_.erase(queue_.begin() + (busy_ ? 1 : 0), queue_.end());
  changed_.wait(lock, [this] { return !busy_; });
  queue_.clear();
  abandons_ = false;
  failure_ = nullptr;
}

bool TransferQueue::delayed() {
  switch (timing_->when) {
    case TransferTiming::When::earliest: return false;
    case TransferTiming::When::latest: return true;
    case TransferTiming::When::random: return (chance_() & 1) != 0;
  }
  return false;
}

void TransferQueue::work() {
  const BlockedSignals blocked;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || (!queue_.empty() && !queue_.front().waits && !failure_); });
    if (ends_) return;
    const Transfer transfer = queue_.front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      copy(transfer);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    if (failure)
      failure_ = failure;
    else
      queue_.pop_front();
    changed_.notify_all();
  }
}

void TransferQueue::copy(const Transfer& transfer) {
  for (size_t done = 0; done < transfer.bytes; done += kPiece) {
    {
      const std::lock_guard lock(mutex_);
      if (abandons_) return;
    }
    const size_t bytes = std::min(kPiece, transfer.bytes - done);
    if (transfer.stores)
      storage_->write(transfer.offset + done, transfer.memory + done, bytes);
    else
      storage_->read(transfer.offset + done, transfer.memory + done, bytes);
  }
}

}  // namespace arbalest
