// The values of a graph of an exported program by name, and which of them share memory: a change in
// place is a new value of the tensor whose memory changes and of all views of it.
#pragma once

#include "frontend/aten/Call.h"

#include <map>

namespace headrace::aten {

/// An operator whose result shares memory with its first argument, "self" or "input".
struct View {
  std::string of;       // the name of that argument
  std::string function; // with the overload
  Arguments arguments;
  ResultTypes results;
  size_t number; // among the results
};

/// Whether the operator, named without its overload, is such a view.
bool isView(const std::string &packet);

class Scope {
public:
  /// `Elsewhere`: of the graph that this one is called from.
  enum class Origin { Computed, Input, Constant, Elsewhere };

  void set(const std::string &name, Value value, Origin origin = Origin::Computed);
  void setView(const std::string &name, Value value, View view);
  /// Another name of a tensor.
  void setSame(const std::string &name, const std::string &of);
  /// Throws Error if there is no such value.
  const Value &get(const std::string &name) const;

  /// Gives a tensor that was changed in place a new value, and so all that share its memory. Throws
  /// Error if that is a tensor of elsewhere, or the view cannot be written through.
  void change(GraphBuilder &builder, const std::string &name, Node value);
  /// Whether an input or a constant has another value than at first.
  bool isChanged(const std::string &name) const;

private:
  struct Entry {
    std::string name;
    Value value;
    Origin origin;
    std::optional<View> view;
    bool isChanged = false;
  };
  Entry &entry(const std::string &name);
  Node node(const std::string &name) const;
  const Entry &rootOf(const Entry &entry) const;
  /// The tensor with its view replaced by another value.
  Node writtenThrough(GraphBuilder &builder, const View &view, Node value) const;
  Value viewed(GraphBuilder &builder, const View &view) const;

  std::vector<Entry> entries; // in the order of their computation
  std::map<std::string, size_t> places;
};

} // namespace headrace::aten
