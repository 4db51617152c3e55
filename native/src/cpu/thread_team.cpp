#include "cpu/thread_team.h"

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.h"
#include "cpu/processor.h"

namespace arbalest {
namespace {

using namespace std::chrono_literals;

// A thread that has been joined counts for the system's limits until the system has forgotten it, a moment later. Then its number may be
// another thread's.
void wait_until_forgotten(pid_t thread) {
  for (int i = 0; i < 1000 && syscall(SYS_tgkill, getpid(), thread, 0) == 0; ++i) std::this_thread::sleep_for(20us);
}

// Starts `count` threads at once, and ends them. Returns whether the system allowed all of them.
bool can_start(int count) {
  std::vector<pid_t> started(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  threads.reserve(started.size());
  std::latch end(1);
  try {
    for (pid_t& number : started) {
      threads.emplace_back([&number, &end] {
        number = gettid();
        end.wait();
      });
    }
  } catch (const std::system_error&) {  // fewer than `count` have been started
  }
  end.count_down();
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < threads.size(); ++i) wait_until_forgotten(started[i]);
  return threads.size() == started.size();
}

// With OMP_THREAD_LIMIT, OMP_DYNAMIC or OMP_MAX_ACTIVE_LEVELS OpenMP may start fewer threads than it is asked for. oneDNN has divided the
// work among all of them, and nobody does the work of a thread that was not started.
void expect_whole_teams(int threads) {
  if (threads > omp_get_thread_limit())
    throw Error("LIMIT_REACHED", "threads: received " + std::to_string(threads) +
                                     " for each learner; the variable OMP_THREAD_LIMIT allows " + std::to_string(omp_get_thread_limit()) +
                                     ": raise it, or use fewer threads");
  omp_set_dynamic(0);
  if (omp_get_max_active_levels() < 1) omp_set_max_active_levels(1);
}

// The largest team yet that the calling thread was given; 0 if it was given none.
thread_local int largest_team = 0;

}  // namespace

void use_team(int threads) {
  expect_whole_teams(threads);
  const int own = std::max(largest_team, 1);
  static std::mutex one_at_a_time;
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  if (threads > own) {
    // OpenMP ends the process if it cannot start a thread. No other team takes the threads between the trial and the start.
    lock.lock();
    if (!can_start(threads - own)) {
      throw Error("LIMIT_REACHED", "threads: received " + std::to_string(threads) +
                                       " for each learner; the system allows no more: raise the limit (ulimit -u, or pids of the "
                                       "container), or use fewer threads or learners");
    }
  }
  omp_set_num_threads(threads);
  flush_denormals();
  // The threads of the team keep their floating-point mode from one parallel region to the next, and the signals that are blocked when they
  // are started.
  if (threads > 1) {
    const BlockedSignals blocked;
#pragma omp parallel num_threads(threads)
    flush_denormals();
  }
  largest_team = std::max(own, threads);
}

OwnTeam::OwnTeam() {
  // OpenMP would take all cores.
  if (largest_team == 0) use_team(1);
  flush_denormals();
  // A parallel region of fewer threads has ended the others, and the next one starts new ones.
  if (largest_team > 1) blocked_.emplace();
}

}  // namespace arbalest
