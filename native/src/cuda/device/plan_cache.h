// The fastest of cuDNN's plans by operator, shape, versions and GPU, in a file: it is measured once, for all later jobs.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace arbalest::cuda {

class PlanCache {
 public:
  // Lines of "key<TAB>plan". If the file is missing or cannot be written, plans are measured again.
  explicit PlanCache(std::string file);

  std::optional<std::string> find(const std::string& key);
  void keep(const std::string& key, const std::string& plan);

  // $ARBALEST_CACHE, $XDG_CACHE_HOME/arbalest or ~/.cache/arbalest; empty if none is set.
  static std::string default_file();

 private:
  void read();

  const std::string file_;
  std::mutex mutex_;
  std::map<std::string, std::string> plans_;
};

}  // namespace arbalest::cuda
