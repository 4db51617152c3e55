#include "device/exact_storage.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/transfers.h"

namespace arbalest {
namespace {

// Of the buffer: small beside what the memory of a device holds, large enough for a disk's full rate.
constexpr size_t kBuffer = size_t{1} << 20;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

class ExactStorage final : public TierStorage {
 public:
  explicit ExactStorage(std::unique_ptr<TierStorage> units)
      : units_(std::move(units)), buffer_(static_cast<std::byte*>(std::aligned_alloc(kTransferUnit, kBuffer))) {
    if (!buffer_) throw std::bad_alloc();
  }

  void write(size_t offset, const std::byte* from, size_t bytes) override {
    for (size_t done = 0; done < bytes;) {
      const Part part = part_at(offset + done, from + done, bytes - done);
      if (part.direct) {
        units_->write(offset + done, from + done, part.bytes);
      } else {
        const size_t room = whole_units(part.lead + part.bytes), begin = offset + done - part.lead;
        // What lies beside it in its first and its last unit stays.
        if (part.lead > 0) units_->read(begin, buffer_.get(), kTransferUnit);
        const bool last = (part.lead + part.bytes) % kTransferUnit != 0 && !(part.lead > 0 && room == kTransferUnit);
        if (last) units_->read(begin + room - kTransferUnit, buffer_.get() + room - kTransferUnit, kTransferUnit);
        std::memcpy(buffer_.get() + part.lead, from + done, part.bytes);
        units_->write(begin, buffer_.get(), room);
      }
      done += part.bytes;
    }
  }

  void read(size_t offset, std::byte* to, size_t bytes) override {
    for (size_t done = 0; done < bytes;) {
      const Part part = part_at(offset + done, to + done, bytes - done);
      if (part.direct) {
        units_->read(offset + done, to + done, part.bytes);
      } else {
        units_->read(offset + done - part.lead, buffer_.get(), whole_units(part.lead + part.bytes));
        std::memcpy(to + done, buffer_.get() + part.lead, part.bytes);
      }
      done += part.bytes;
    }
  }

 private:
  struct Part {
    bool direct;
    size_t bytes;
    size_t lead;  // bytes of its first unit that lie before it
  };

  static Part part_at(size_t offset, const std::byte* memory, size_t left) {
    const size_t lead = offset % kTransferUnit;
    const bool aligned = lead == 0 && reinterpret_cast<uintptr_t>(memory) % kTransferUnit == 0;
    if (aligned && left >= kTransferUnit) return {true, left / kTransferUnit * kTransferUnit, 0};
    // A first unit by itself, so that what follows may be direct.
    const bool then_direct = lead > 0 && (reinterpret_cast<uintptr_t>(memory) - lead) % kTransferUnit == 0;
    return {false, std::min(left, (then_direct ? kTransferUnit : kBuffer) - lead), lead};
  }

  const std::unique_ptr<TierStorage> units_;
  const std::unique_ptr<std::byte, Free> buffer_;
};

}  // namespace

std::unique_ptr<TierStorage> exact_storage(std::unique_ptr<TierStorage> units) { return std::make_unique<ExactStorage>(std::move(units)); }

}  // namespace arbalest
