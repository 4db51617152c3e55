// Locks on files between processes.
#pragma once

namespace arbalest {

enum class FileLocking {
  kTaken,
  // By another open file description: of another process, or of another thread of this one.
  kHeld,
  // The file's system knows no such locks.
  kUnsupported,
};

// Locks the file that is open for writing as `descriptor`, for its open file description: the lock goes with the last descriptor of that,
// however the process ends. Does not wait.
FileLocking lock_file(int descriptor);

}  // namespace arbalest
