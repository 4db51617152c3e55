// Operators by their kinds, of which one may have several for different shapes. The file of a family adds its operators when the library is
// loaded, so that no list has to be changed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace arbalest {

template <class Operator> class OperatorTable {
 public:
  // An object at namespace scope adds operators to the table.
  struct Registered {
    explicit Registered(std::vector<Operator> operators) {
      for (Operator& op : operators) {
        const std::string kind = op.kind;
        table()[kind].push_back(std::move(op));
      }
    }
  };

  // Null if there is no such operator.
  static const Operator* find(const std::string& kind) {
    return find(kind, [](const Operator&) { return true; });
  }

  // One that `suits(operator)`; null if there is none.
  template <class Suits> static const Operator* find(const std::string& kind, const Suits& suits) {
    const auto found = table().find(kind);
    if (found == table().end()) return nullptr;
    for (const Operator& op : found->second) {
      if (suits(op)) return &op;
    }
    return nullptr;
  }

 private:
  // Made when the first file registers: the order in which files are initialised is not defined.
  static std::map<std::string, std::vector<Operator>>& table() {
    static std::map<std::string, std::vector<Operator>> operators;
    return operators;
  }
};

}  // namespace arbalest
