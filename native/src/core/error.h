// Native code throws; it never exits or aborts. `code` is one of the codes of src/errors.ts.
#pragma once

#include <stdexcept>
#include <string>

namespace arbalest {

// Visible, so that it is one type in the addon and in every backend library.
class __attribute__((visibility("default"))) Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message) : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

}  // namespace arbalest
