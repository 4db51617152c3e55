// The number of launches of each of our kernels that have run, in recordings too, for tests of how work is launched.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <typeinfo>

namespace arbalest::cuda {

std::atomic<int64_t>& launches_of(const char* program);

// {"<the program's mangled name>": launches, ...}
std::string launches();

template <class Program> void count_launch() {
  static std::atomic<int64_t>& count = launches_of(typeid(Program).name());
  count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace arbalest::cuda
