#include "frontend/aten/exported/Scope.h"

#include "frontend/aten/Table.h"

#include <algorithm>
#include <set>

namespace headrace::aten {

namespace {

/// Views of all elements in their order.
const std::set<std::string> whole{
    "view",    "_unsafe_view",    "reshape",       "view_as",    "reshape_as", "unsqueeze",
    "squeeze", "flatten",         "unflatten",     "contiguous", "alias",      "detach",
    "dropout", "feature_dropout", "alpha_dropout", "to",         "type_as",    "float"};
/// Views of some elements, or in another order.
const std::set<std::string> parts{"permute",
                                  "transpose",
                                  "t",
                                  "expand",
                                  "expand_as",
                                  "slice",
                                  "select",
                                  "narrow",
                                  "split",
                                  "chunk",
                                  "unbind",
                                  "diagonal",
                                  "unfold",
                                  "movedim",
                                  "numpy_T",
                                  "mT",
                                  "moveaxis",
                                  "broadcast_to",
                                  "tensor_split",
                                  "swapdims",
                                  "swapaxes",
                                  "split_with_sizes"};

std::string packetOf(const std::string &function) { return function.substr(0, function.find('.')); }

Value called(GraphBuilder &builder, const std::string &function, Arguments arguments,
             ResultTypes results) {
  Call call(builder, packetOf(function), std::move(arguments), std::move(results), false);
  return (*findOperator(function))(call);
}

Arguments withFirst(Arguments arguments, Node tensor) {
  arguments.front().second = tensor;
  return arguments;
}

} // namespace

bool isView(const std::string &packet) { return whole.contains(packet) || parts.contains(packet); }

void Scope::set(const std::string &name, Value value, Origin origin) {
  places[name] = entries.size();
  entries.push_back({name, std::move(value), origin, {}, false});
}

void Scope::setView(const std::string &name, Value value, View view) {
  set(name, std::move(value));
  entries.back().view = std::move(view);
}

void Scope::setSame(const std::string &name, const std::string &of) {
  setView(name, get(of), {of, "alias.default", {{"self", get(of)}}, {}, 0});
}

const Value &Scope::get(const std::string &name) const {
  auto found = places.find(name);
  if (found == places.end())
    throw Error(ErrorKind::InvalidFile, "value '" + name + "' is used before it is computed");
  return entries[found->second].value;
}

bool Scope::isChanged(const std::string &name) const {
  auto found = places.find(name);
  return found != places.end() && entries[found->second].isChanged;
}

Scope::Entry &Scope::entry(const std::string &name) {
  get(name);
  return entries[places.at(name)];
}

Node Scope::node(const std::string &name) const {
  if (const auto *found = get(name).as<Node>())
    return *found;
  throw Error(ErrorKind::InvalidFile, "value '" + name + "': expected a tensor");
}

const Scope::Entry &Scope::rootOf(const Entry &entry) const {
  const Entry *found = &entry;
  while (found->view)
    found = &entries[places.at(found->view->of)];
  return *found;
}

Node Scope::writtenThrough(GraphBuilder &builder, const View &view, Node value) const {
  Node base = node(view.of);
  std::string packet = packetOf(view.function);
  if (whole.contains(packet))
    return builder.reshape(builder.cast(value, builder.dtype(base)), builder.shape(base));
  if (packet == "transpose" || packet == "t" || packet == "mT" || packet == "numpy_T") {
    ResultTypes same{ResultType{builder.dtype(base), builder.shape(base)}};
    return *called(builder, view.function, withFirst(view.arguments, value), same).as<Node>();
  }
  if (packet != "slice" && packet != "select" && packet != "diagonal")
    throw Unsupported("a tensor is changed through " + view.function +
                      "; expected a program after run_decompositions()");
  Arguments arguments = withFirst(view.arguments, base);
  arguments.emplace_back("src", builder.cast(value, builder.dtype(base)));
  ResultTypes same{ResultType{builder.dtype(base), builder.shape(base)}};
  return *called(builder, packet + "_scatter", std::move(arguments), same).as<Node>();
}

Value Scope::viewed(GraphBuilder &builder, const View &view) const {
  Value found =
      called(builder, view.function, withFirst(view.arguments, node(view.of)), view.results);
  if (const auto *list = found.as<List>())
    return list->at(view.number);
  return found;
}

void Scope::change(GraphBuilder &builder, const std::string &name, Node value) {
  Entry *changed = &entry(name);
  while (changed->view) {
    value = writtenThrough(builder, *changed->view, value);
    changed = &entry(changed->view->of);
  }
  if (changed->origin == Origin::Elsewhere)
    throw Unsupported("'" + changed->name + "' is changed in place by a graph that is called");
  changed->isChanged = true;
  changed->value = value;
  for (Entry &each : entries)
    if (each.view && &rootOf(each) == changed)
      each.value = viewed(builder, *each.view);
}

} // namespace headrace::aten
