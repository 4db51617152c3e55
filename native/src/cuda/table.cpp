#include "cuda/table.h"

#include <map>

namespace arbalest::cuda {
namespace {

// Made when the first file registers: the order in which files are initialised is not defined.
std::map<std::string, Operator>& operators() {
  static std::map<std::string, Operator> table;
  return table;
}

}  // namespace

Registered::Registered(std::vector<Operator> added) {
  for (Operator& op : added) {
    const std::string kind = op.kind;
    operators().emplace(kind, std::move(op));
  }
}

const Operator* find_operator(const std::string& kind) {
  const auto found = operators().find(kind);
  return found == operators().end() ? nullptr : &found->second;
}

}  // namespace arbalest::cuda
