#include "core/cores.h"

#include <algorithm>
#include <string>
#include <thread>

#include "core/error.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>

#include <memory>
#endif

namespace arbalest {

#ifdef __linux__
void keep_to_cores(const std::vector<int>& cores) {
  int most = 0;
  for (int core : cores) most = core > most ? core : most;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most + 1), [](cpu_set_t* allocated) { CPU_FREE(allocated); });
  const size_t size = CPU_ALLOC_SIZE(most + 1);
  CPU_ZERO_S(size, set.get());
  for (int core : cores) CPU_SET_S(core, size, set.get());
  if (pthread_setaffinity_np(pthread_self(), size, set.get()) == 0) return;
  std::string received;
  for (int core : cores) received += (received.empty() ? "" : ", ") + std::to_string(core);
  throw Error("INVALID_OPTION", "cores: received " + received + "; this thread may use none of them: give cores that the process may use");
}
#else
void keep_to_cores(const std::vector<int>&) {}
#endif

size_t cores_of_machine() {
  static const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return cores;
}

}  // namespace arbalest
