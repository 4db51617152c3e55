// Calls a JavaScript function, from any thread, in the thread to which it belongs. Does nothing once that thread has ended.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

namespace arbalest {

class WakeUp {
 public:
  // Calls that are made before the function has run are joined into one. None of them keeps the thread alive.
  WakeUp(Napi::Env env, const Napi::Function& function) : call_(Napi::ThreadSafeFunction::New(env, function, "arbalest wake", 1, 1)) {
    call_.Unref(env);
  }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void operator()() {
    const std::lock_guard lock(mutex_);
    if (open_) call_.NonBlockingCall();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    if (open_) call_.Release();
    open_ = false;
  }

 private:
  std::mutex mutex_;
  bool open_ = true;
  Napi::ThreadSafeFunction call_;
};

// A call into a thread that has ended would abort the process. This hook is younger than the function's own and runs before it.
inline std::function<void()> wake_up(Napi::Env env, const Napi::Function& function) {
  const auto wake = std::make_shared<WakeUp>(env, function);
  env.AddCleanupHook(
      [](std::shared_ptr<WakeUp>* held) {
        (*held)->close();
        delete held;
      },
      new std::shared_ptr<WakeUp>(wake));
  // The last owner closes it, in any thread. The hook is an owner too, so that it waits for a thread that is closing it.
  const std::shared_ptr<WakeUp> caller(wake.get(), [wake](WakeUp* closed) { closed->close(); });
  return [caller] { (*caller)(); };
}

}  // namespace arbalest
