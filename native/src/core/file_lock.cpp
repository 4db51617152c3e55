#include "core/file_lock.h"

#ifdef __linux__
#include <fcntl.h>

#include <cerrno>
#endif

namespace arbalest {

#ifdef __linux__
FileLocking lock_file(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_OFD_SETLK, &whole) == 0) return FileLocking::kTaken;
  return errno == EAGAIN || errno == EACCES ? FileLocking::kHeld : FileLocking::kUnsupported;
}
#else
FileLocking lock_file(int) { return FileLocking::kUnsupported; }
#endif

}  // namespace arbalest
