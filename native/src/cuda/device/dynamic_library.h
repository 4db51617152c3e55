// A library that is opened when it is first needed. It is searched for in ARBALEST_CUDA_PATH, in the project's .cuda folder, and in the
// folders of the loader.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace arbalest::cuda {

class DynamicLibrary {
 public:
  // `file` with its version: "libcudnn.so.9"; `package` as NVIDIA's wheels name its folder: "cudnn". Throws BACKEND_UNAVAILABLE in one
  // sentence.
  DynamicLibrary(const std::string& what, const std::string& file, const std::string& package);

  void* handle() const { return handle_; }

  template <class Function> void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  const std::string what_;
  void* handle_ = nullptr;
};

}  // namespace arbalest::cuda
