// The way of a round's buckets up through the levels. Each level has a thread of its own, so that its work overlaps the learners' next step
// and the other levels' work on other buckets; all of them see the buckets in one order.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "transport/level.h"

namespace arbalest {

class Ascent {
 public:
  // Both are called by the last level's thread, or by that of the level where it failed: nothing is carried any more then.
  using Arrived = std::function<void(const Passage&)>;
  using Failed = std::function<void(std::exception_ptr)>;

  Ascent(std::vector<std::unique_ptr<Level>> levels, LevelSpans& spans, Arrived arrived, Failed failed);
  // What is still under way is given up.
  ~Ascent();
  Ascent(const Ascent&) = delete;
  Ascent& operator=(const Ascent&) = delete;

  // Nothing is carried any more, and its threads are gone; what they have queued may still be at work.
  void end();
  // In the order of rounds, and of the buckets of a round.
  void carry(Passage passage);

 private:
  struct Storey {
    std::deque<Passage> arriving;
    std::condition_variable changed;
    std::thread thread;
  };

  void push(size_t level, Passage passage);
  // All that has come to the level; waits where there is nothing, and nothing is under way.
  std::deque<Passage> take(size_t level, bool under_way);
  void work(size_t level);
  void carry_through(size_t level);

  const std::vector<std::unique_ptr<Level>> levels_;
  LevelSpans& spans_;
  const Arrived arrived_;
  const Failed failed_;
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;
  std::deque<Storey> storeys_;
};

}  // namespace arbalest
