#include "cuda/device/plan_cache.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace arbalest::cuda {

std::string PlanCache::default_file() {
  const auto given = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  std::string folder = given("ARBALEST_CACHE");
  if (folder.empty() && !given("XDG_CACHE_HOME").empty()) folder = given("XDG_CACHE_HOME") + "/arbalest";
  if (folder.empty() && !given("HOME").empty()) folder = given("HOME") + "/.cache/arbalest";
  return folder.empty() ? "" : folder + "/cudnn-plans.txt";
}

PlanCache::PlanCache(std::string file) : file_(std::move(file)) { read(); }

void PlanCache::read() {
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) plans_.insert_or_assign(line.substr(0, tab), line.substr(tab + 1));
  }
}

std::optional<std::string> PlanCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = plans_.find(key);
  return found == plans_.end() ? std::nullopt : std::optional(found->second);
}

void PlanCache::keep(const std::string& key, const std::string& plan) {
  const std::lock_guard lock(mutex_);
  // Other processes may have added lines.
  read();
  plans_.insert_or_assign(key, plan);
  if (file_.empty()) return;
  // Renamed into its place, so that no process reads half a file.
  std::error_code ignored;
  const std::filesystem::path path(file_);
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::string fresh = file_ + "." + std::to_string(getpid());
  {
    std::ofstream out(fresh);
    for (const auto& [each, name] : plans_) out << each << '\t' << name << '\n';
    if (!out.flush()) return;
  }
  std::filesystem::rename(fresh, path, ignored);
}

}  // namespace arbalest::cuda
