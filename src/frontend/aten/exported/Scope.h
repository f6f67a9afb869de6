// The values of a graph of an exported program by name, and which of them share memory.
#pragma once

#include "frontend/aten/Value.h"

#include <map>
#include <string>

namespace headrace::aten {

/// How a name came to its tensor.
enum class Origin { Computed, Input, Constant, View, Same };

class Scope {
public:
  void set(const std::string &name, Value value, Origin origin = Origin::Computed,
           const std::string &of = "");
  /// Throws Error if there is no such value.
  const Value &get(const std::string &name) const;
  bool has(const std::string &name) const { return entries.contains(name); }

  /// Gives a tensor that was changed in place, and all others with the same elements, a new value.
  /// Throws Error if memory of an input, a buffer or a view of another kind changes.
  void change(GraphBuilder &builder, const std::string &name, Node value);

private:
  struct Entry {
    Value value;
    Origin origin;
    std::string root; // the first name of the memory
    bool isWhole;     // whether it has all elements of the root, in their order
  };
  std::map<std::string, Entry> entries;
};

} // namespace headrace::aten
