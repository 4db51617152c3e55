#include "cuda/device/about.h"

#include "cuda/device/cublas_lt.h"
#include "cuda/device/cudnn.h"
#include "cuda/device/nccl.h"
#include "cuda/device/nvrtc.h"
#include "cuda/device/runtime.h"
#include "cuda/device_backend.h"
#include "cuda/learner_bank.h"

namespace arbalest::cuda {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

std::string release(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

// "name":"version", or "name":"reason" under `missing`.
template <class Version> void ask(const char* name, std::string& found, std::string& missing, Version version) {
  try {
    found += std::string(found.empty() ? "" : ",") + quoted(name) + ":" + quoted(version());
  } catch (const Error& error) {
    missing += std::string(missing.empty() ? "" : ",") + quoted(name) + ":" + quoted(error.what());
  }
}

std::string nccl_version() {
  const int version = nccl().version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

std::string driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "driver");
  if (version == 0) throw Error("BACKEND_UNAVAILABLE", "there is no NVIDIA driver; install release 580 or newer");
  return "CUDA " + release(version);
}

std::string device(int number) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, number), "device");
  const UsedDevice used(number);
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "device");
  return "{\"name\":" + quoted(properties.name) + ",\"capability\":\"" + std::to_string(properties.major) + "." +
         std::to_string(properties.minor) + "\",\"memory\":" + std::to_string(total) + ",\"freeMemory\":" + std::to_string(free) + "}";
}

std::string devices() {
  std::string list;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return list;
  for (int i = 0; i < count; ++i) list += (i ? "," : "") + device(i);
  return list;
}

}  // namespace

std::string about() {
  prepare_environment();
  std::string found, missing, list;
  ask("runtime", found, missing, [] {
    int version = 0;
    check(cudaRuntimeGetVersion(&version), "runtime");
    return release(version);
  });
  ask("driver", found, missing, driver_version);
  // cuBLASLt and cuDNN make handles, which need a GPU.
  try {
    list = devices();
  } catch (const Error& error) {
    missing += std::string(missing.empty() ? "" : ",") + "\"devices\":" + quoted(error.what());
  }
  ask("NCCL", found, missing, nccl_version);
  ask("NVRTC", found, missing, [] { return open_nvrtc(); });
  ask("cuBLASLt", found, missing, [] { return std::to_string(cublas_lt_version()); });
  ask("cuDNN", found, missing, [] { return std::to_string(open_cudnn()); });
  const BankReport banks = bank_report();
  return "{\"versions\":{" + found + "},\"missing\":{" + missing + "},\"devices\":[" + list +
         "],\"banks\":{\"steps\":" + std::to_string(banks.steps) + ",\"aside\":" + std::to_string(banks.aside) +
         ",\"refusals\":" + std::to_string(banks.refusals) + ",\"refusal\":" + quoted(banks.refusal) + "}}";
}

}  // namespace arbalest::cuda
