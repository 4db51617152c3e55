// Signals that must not interrupt native code.
#pragma once

#include <csignal>
#include <initializer_list>

namespace arbalest {

// Blocks signals in this thread for a scope, except for those that the thread's own faults raise. oneDNN's JIT matrix products for AVX2 and
// AVX-512 address a buffer in the heap by the stack pointer: the handler of a signal, such as that of V8's sampling profiler, would write
// its frame into the heap. A blocked signal of the process goes to another thread, one of this thread comes at the end of the scope.
// Threads that are started in the scope block these signals for their life.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace arbalest
