#include "device/spill_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "core/transfers.h"

namespace arbalest {
namespace {

// File systems that keep their files in memory. linux/magic.h has the names.
constexpr unsigned long kTmpfs = 0x01021994, kRamfs = 0x858458f6;

std::string reason(int error) { return std::generic_category().message(error); }

Error refused(const std::string& folder, const std::string& why) { return {"INVALID_OPTION", "spill: received " + folder + "; " + why}; }

Error failed(const std::string& folder, const std::string& what, int error) {
  const std::string fix = error == ENOSPC || error == EDQUOT || error == EFBIG
                              ? "free some there, give another folder, or allow more memory"
                              : "give a folder on another disk, or train without one";
  return {"WRITE_FAILED", "spill: the file in " + folder + " " + what + " (" + reason(error) + "); " + fix};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

class SpillFile final : public TierStorage {
 public:
  SpillFile(int descriptor, std::string folder) : file_(descriptor), folder_(std::move(folder)) {}

  // Direct reads and writes are of whole units, for which a Program leaves room.
  void write(size_t offset, const std::byte* from, size_t bytes) override {
    for (size_t done = 0, all = whole_units(bytes); done < all;) {
      const ssize_t count = pwrite(file_.number(), from + done, all - done, static_cast<off_t>(offset + done));
      if (count > 0) done += static_cast<size_t>(count);
      if (count < 0 && errno != EINTR) throw failed(folder_, "cannot be written", errno);
    }
  }

  void read(size_t offset, std::byte* to, size_t bytes) override {
    for (size_t done = 0, all = whole_units(bytes); done < all;) {
      const ssize_t count = pread(file_.number(), to + done, all - done, static_cast<off_t>(offset + done));
      if (count > 0) done += static_cast<size_t>(count);
      if (count == 0) throw failed(folder_, "is shorter than it was", EIO);
      if (count < 0 && errno != EINTR) throw failed(folder_, "cannot be read", errno);
    }
  }

 private:
  const Descriptor file_;
  const std::string folder_;
};

// Some file systems have no files without a name: there it loses its name at once.
int open_unnamed(const std::string& folder) {
  constexpr int kHow = O_RDWR | O_DIRECT | O_CLOEXEC;
  const int unnamed = open(folder.c_str(), kHow | O_TMPFILE, S_IRUSR | S_IWUSR);
  if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return unnamed;
  std::string path = folder + "/.arbalest-spill-XXXXXX";
  const int named = mkostemp(path.data(), O_DIRECT | O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

// Zero, or an error of the system. A file system may take all the space that there is before it finds that this is not enough.
int take_space(int descriptor, size_t bytes) {
  struct statvfs system {};
  if (fstatvfs(descriptor, &system) != 0) return errno;
  if (bytes / system.f_frsize >= system.f_bavail) return ENOSPC;
  // A handler of a signal may interrupt it.
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  return error;
}

}  // namespace

std::unique_ptr<TierStorage> spill_file(const std::string& folder, size_t bytes) {
  struct statfs system {};
  if (statfs(folder.c_str(), &system) != 0) throw refused(folder, reason(errno) + ": give a folder on a disk");
  const auto kind = static_cast<unsigned long>(system.f_type);
  if (kind == kTmpfs || kind == kRamfs) throw refused(folder, "its files lie in memory, where they save nothing: give a folder on a disk");
  Descriptor file(open_unnamed(folder));
  if (file.number() < 0) {
    if (errno == EINVAL) throw refused(folder, "its file system reads and writes through memory only: give a folder on another disk");
    if (errno == ENOTDIR) throw refused(folder, "it is a file: give a folder on a disk");
    throw failed(folder, "cannot be made", errno);
  }
  if (const int error = take_space(file.number(), bytes); error != 0)
    throw failed(folder, "cannot have " + std::to_string(bytes) + " bytes", error);
  return spill_file(file.release(), folder);
}

std::unique_ptr<TierStorage> spill_file(int descriptor, const std::string& folder) {
  return std::make_unique<SpillFile>(descriptor, folder);
}

}  // namespace arbalest
