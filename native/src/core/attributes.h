// An operator's numbers and lists of numbers by name, as the files of src/model/operators/ document them for each kind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace arbalest {

class Attributes {
 public:
  void set(const std::string& name, std::vector<double> values) { values_[name] = std::move(values); }
  bool has(const std::string& name) const { return values_.count(name) != 0; }

  // `otherwise` where the operator has no such attribute.
  std::vector<double> list(const std::string& name, std::vector<double> otherwise) const { return has(name) ? list(name) : otherwise; }
  double number(const std::string& name) const { return only(name, list(name)); }
  double number(const std::string& name, double otherwise) const { return has(name) ? number(name) : otherwise; }

  const std::vector<double>& list(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw Error("INVALID_PROGRAM", "attribute " + name + ": missing; the operator cannot run without it");
    return found->second;
  }

 private:
  static double only(const std::string& name, const std::vector<double>& values) {
    if (values.size() != 1)
      throw Error("INVALID_PROGRAM", "attribute " + name + ": received " + std::to_string(values.size()) + " numbers; give one");
    return values.front();
  }

  std::map<std::string, std::vector<double>> values_;
};

}  // namespace arbalest
