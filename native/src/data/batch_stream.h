// Batches that are made while the learners train: a feeder fills a few slots ahead of the readers.
//
// A reader asks for the batch at a position. If no slot holds it, the request stands until the feeder has served it. Which batch a
// reader gets depends on its position alone: a wrong guess of the next batch, a dead reader or a replaced feeder costs time, but never a
// sample. Slots are the only memory, and their number bounds how far the feeder is ahead.
//
// Readers share an endless range with those of other hosts, and may so ask for every second batch only, or for every third. The stream goes
// by the smallest distance between their newest requests, which changes with the number of hosts.
//
// A batch that was read stays in its slot until the slot is needed: if there are as many slots as batches, each batch is made once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/condition_variable.h"
#include "data/dataset.h"

namespace arbalest {

struct StreamSpec {
  static constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

  int64_t count = 0;                    // samples of the data set
  Dataset kind;                         // a data set like its batches, without samples; those are bytes, as pixels are
  int64_t batch = 0, slots = 0;         // samples of the usual batch, and the number of batches that are kept
  uint64_t from = 0, until = kEndless;  // positions; a range with an end is read repeatedly
};

struct StreamStatus {
  int64_t filling = 0, ready = 0, taken = 0;  // slots
  int64_t waiting = 0;                        // readers
  int64_t batches = 0;                        // that were read so far
  double wait_seconds = 0;                    // for which all readers have waited
};

class BatchStream {
 public:
  // A batch to make: `count` samples from `position` on, or the samples of the data set with these numbers.
  struct Request {
    uint64_t position = 0;
    int64_t count = 0;
    std::vector<int64_t> samples;

    bool operator==(const Request&) const = default;
  };

  // A batch that a feeder has to make now. Each order has its own number, so that a late batch is not taken for that of a newer
  // order at the same position.
  struct Order {
    uint64_t turn = 0;
    Request request;
  };

 private:
  struct Slot {
    Request request;
    uint64_t turn = 0;  // of the order that fills it
    bool filling = false, filled = false, spent = false;
    int holders = 0;
    Dataset data;  // the batch's samples in their order
  };

 public:
  // Reads batches, one after another. Its destructor gives up the batch that it has asked for and the one that it holds.
  class Reader {
   public:
    explicit Reader(std::shared_ptr<BatchStream> stream);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // The batch, valid until `release`; null if the deadline comes first or `cancelled` is set, which is checked every 10 ms.
    const Dataset* take(const Request& wish, Clock::time_point deadline, const std::atomic<bool>& cancelled);
    void release();
    // The places of `count` samples in their batch: 0, 1, 2, ...
    std::span<const int64_t> places(int64_t count);

   private:
    friend class BatchStream;
    const std::shared_ptr<BatchStream> stream_;
    std::vector<int64_t> places_;
    std::optional<Request> wish_;
    std::optional<uint64_t> last_;  // the position of its last request
    Slot* held_ = nullptr;
  };

  explicit BatchStream(StreamSpec spec);

  // The next batch to make, if there is one and a slot for it: one that a reader waits for or, with `ahead`, one ahead of the readers.
  std::optional<Order> next(bool ahead);
  // The class numbers (count, label...) of a batch, or its targets (count, target...).
  using Targets = std::variant<std::span<const int32_t>, std::span<const float>>;
  // The batch of an order. A batch that is no longer needed is ignored. Throws LABEL_OUT_OF_RANGE and SHAPE_MISMATCH.
  void feed(uint64_t turn, std::span<const std::byte> samples, const Targets& targets);
  // Calls `wake`, on any thread, when `next` may have a batch again. Batches that another feeder was making are given out again.
  void watch(std::function<void()> wake);

  const StreamSpec& spec() const { return spec_; }
  StreamStatus status() const;

 private:
  bool endless() const { return spec_.until == StreamSpec::kEndless; }
  Request after(std::optional<uint64_t> position) const;
  void note(uint64_t position);
  std::optional<uint64_t> front() const;
  bool is_ahead(uint64_t position) const;
  bool is_stale(const Slot& slot) const;
  bool is_wished(const Slot& slot) const;
  Slot* reusable(bool urgent);
  std::optional<Order> begin(const Request& request, bool urgent);
  void wake();
  void check_lengths(const Request& request, size_t bytes, const Targets& targets) const;
  void check_classes(const Slot& slot) const;

  const StreamSpec spec_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::map<uint64_t, Slot*> at_;  // slots in use, by position
  std::vector<Reader*> readers_;
  std::optional<uint64_t> latest_;  // the position of the last request
  std::deque<uint64_t> newest_;     // of the last requests
  uint64_t stride_;                 // positions from one request to the next, of all readers together
  uint64_t turns_ = 0;              // orders given out
  std::function<void()> wake_;
  StreamStatus totals_;
};

}  // namespace arbalest
