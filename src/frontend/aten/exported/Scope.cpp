#include "frontend/aten/exported/Scope.h"

#include "frontend/aten/Call.h"

namespace headrace::aten {

void Scope::set(const std::string &name, Value value, Origin origin, const std::string &of) {
  Entry entry{std::move(value), origin, name, true};
  if (auto source = entries.find(of); source != entries.end()) {
    entry.root = source->second.root;
    entry.isWhole = source->second.isWhole && origin == Origin::Same;
  }
  entries.insert_or_assign(name, std::move(entry));
}

const Value &Scope::get(const std::string &name) const {
  auto found = entries.find(name);
  if (found == entries.end())
    throw Error(ErrorKind::InvalidFile, "value '" + name + "' is used before it is computed");
  return found->second.value;
}

void Scope::change(GraphBuilder &builder, const std::string &name, Node value) {
  const Entry &changed = entries.at(name);
  const Entry &root = entries.at(changed.root);
  if (root.origin == Origin::Input)
    throw Unsupported("input '" + changed.root + "' is changed in place");
  if (root.origin == Origin::Constant)
    throw Unsupported("parameter or buffer '" + changed.root +
                      "' is changed in place; expected a module in evaluation mode");
  for (auto &[other, entry] : entries) {
    if (entry.root != changed.root || !entry.value.as<Node>())
      continue;
    if (!changed.isWhole || !entry.isWhole)
      throw Unsupported("a part of '" + changed.root +
                        "' is changed in place; expected a program after run_decompositions()");
    entry.value = builder.reshape(value, builder.shape(*entry.value.as<Node>()));
  }
}

} // namespace headrace::aten
