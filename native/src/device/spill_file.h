// A file without a name, read and written past the system's cache: values that are moved there leave memory, and the file ends with the
// process, however that ends.
#pragma once

#include <memory>
#include <string>

#include "device/transfer_queue.h"

namespace arbalest {

// Takes the space of the whole file first. Throws INVALID_OPTION for a folder that is missing, or whose files lie in memory; WRITE_FAILED
// if there is no space or no permission.
std::unique_ptr<TierStorage> spill_file(const std::string& folder, size_t bytes);

// The same over an open file, which it closes: `folder` is for messages.
std::unique_ptr<TierStorage> spill_file(int descriptor, const std::string& folder);

}  // namespace arbalest
