// Operators by their kinds. The file of a family adds its operators when the library is loaded, so that no list has to be changed.
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
        table().emplace(kind, std::move(op));
      }
    }
  };

  // Null if there is no such operator.
  static const Operator* find(const std::string& kind) {
    const auto found = table().find(kind);
    return found == table().end() ? nullptr : &found->second;
  }

 private:
  // Made when the first file registers: the order in which files are initialised is not defined.
  static std::map<std::string, Operator>& table() {
    static std::map<std::string, Operator> operators;
    return operators;
  }
};

}  // namespace arbalest
