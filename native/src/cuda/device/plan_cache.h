// Which of cuDNN's plans was fastest, by operator, shape, versions and GPU: measured once, kept in a file for the jobs that come.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace arbalest::cuda {

class PlanCache {
 public:
  // Lines of "key<TAB>plan". A file that is not there, or cannot be written, costs measuring anew and nothing else.
  explicit PlanCache(std::string file);

  std::optional<std::string> find(const std::string& key);
  void keep(const std::string& key, const std::string& plan);

  // $ARBALEST_CACHE, $XDG_CACHE_HOME/arbalest or ~/.cache/arbalest; empty where there is none of them.
  static std::string default_file();

 private:
  void read();

  const std::string file_;
  std::mutex mutex_;
  std::map<std::string, std::string> plans_;
};

}  // namespace arbalest::cuda
