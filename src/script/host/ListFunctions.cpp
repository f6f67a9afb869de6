// Lists: made, taken apart, changed, bound. Entries keep their types.
#include "script/host/HostFunctions.h"
#include <algorithm>

namespace headrace::script {

namespace {

using Entry = std::pair<std::string, Value>;
using Entries = std::vector<Entry>;

Value listOf(Entries entries) { return std::make_shared<const List>(List{std::move(entries)}); }

const Entries &entriesOf(const HostCall &call, size_t argument, const char *what) {
  return call.arguments[argument].list(what).entries;
}

/// The position of a name in a hash table of Java, as which SystemDS keeps the arguments of a call
/// that all have names.
size_t hashedPosition(const std::string &name, size_t tableSize) {
  uint32_t hash = 0;
  for (unsigned char c : name)
    hash = 31 * hash + c;
  return (hash ^ (hash >> 16)) % tableSize;
}

/// list(a, b) has its entries as they are written; list(x=a, y=b) in the order of a hash table,
/// which scripts of SystemDS's library rely on: args[1] of list(X=X, reg=1, tol=2) is tol.
Value make(HostCall &call) {
  Entries entries;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    entries.emplace_back(call.node.argumentNames[i], std::move(call.arguments[i]));
  if (std::ranges::none_of(entries, [](const Entry &entry) { return entry.first.empty(); })) {
    size_t tableSize = 16;
    while (entries.size() > tableSize / 4 * 3)
      tableSize *= 2;
    // Names of one position stay as they are written.
    std::vector<std::pair<size_t, size_t>> order;
    for (size_t i = 0; i < entries.size(); ++i)
      order.emplace_back(hashedPosition(entries[i].first, tableSize), i);
    std::ranges::sort(order);
    Entries ordered;
    for (auto [position, i] : order)
      ordered.push_back(std::move(entries[i]));
    entries = std::move(ordered);
  }
  return listOf(std::move(entries));
}

// --- Positions ---------------------------------------------------------------------------------

/// The position of the entry with this number or name.
size_t position(const Entries &entries, const Value &key) {
  if (auto *name = key.as<std::string>()) {
    auto found = std::ranges::find(entries, *name, &Entry::first);
    if (found == entries.end())
      throw Error(ErrorKind::InvalidArgument, "the list has no entry '" + *name + "'");
    return static_cast<size_t>(found - entries.begin());
  }
  int64_t at = key.truncated("an index of a list");
  if (at < 1 || at > std::ssize(entries))
    throw Error(ErrorKind::InvalidArgument,
                "entry " + std::to_string(at) + " of a list of " + std::to_string(entries.size()));
  return static_cast<size_t>(at - 1);
}

struct Span {
  size_t begin, end; // half-open
};

Span positions(const HostCall &call, const Entries &entries, size_t first) {
  size_t begin = position(entries, call.arguments[first]);
  size_t last = position(entries, call.arguments[first + 1]);
  if (last < begin)
    throw Error(ErrorKind::InvalidArgument,
                "entries " + std::to_string(begin + 1) + ":" + std::to_string(last + 1) +
                    " of a list: expected a range that does not go down");
  return {begin, last + 1};
}

/// (list, first, last): a list of these entries
Value index(HostCall &call) {
  const Entries &entries = entriesOf(call, 0, "an index");
  auto [begin, end] = positions(call, entries, 1);
  return listOf(Entries(entries.begin() + begin, entries.begin() + end));
}

/// (list, position): the entry itself
Value entry(HostCall &call) {
  const Entries &entries = entriesOf(call, 0, "an entry");
  return entries[position(entries, call.arguments[1])].second;
}

/// (list, value, first, last); a list as the value has one entry for each
Value assign(HostCall &call) {
  Entries entries = entriesOf(call, 0, "an index on the left");
  auto [begin, end] = positions(call, entries, 2);
  auto *several = call.arguments[1].as<std::shared_ptr<const List>>();
  size_t given = several ? (*several)->entries.size() : 1;
  if (given != end - begin)
    throw Error(ErrorKind::ShapeMismatch, "expected " + std::to_string(end - begin) +
                                              " entries for the index on the left, got " +
                                              describe(call.arguments[1]));
  for (size_t i = begin; i < end; ++i)
    entries[i].second = several ? (*several)->entries[i - begin].second : call.arguments[1];
  return listOf(std::move(entries));
}

// --- Growing and shrinking ---------------------------------------------------------------------

/// (list, values ...); a list of one is its entry, which brings its name along
Value append(HostCall &call) {
  Entries entries = entriesOf(call, 0, "append");
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    auto *list = call.arguments[i].as<std::shared_ptr<const List>>();
    if (list && (*list)->entries.size() == 1)
      entries.push_back((*list)->entries.front());
    else
      entries.emplace_back("", call.arguments[i]);
  }
  return listOf(std::move(entries));
}

/// (list, position): the list without the entry, and a list of the entry
Value remove(HostCall &call) {
  Entries entries = entriesOf(call, 0, "remove");
  auto at = entries.begin() + static_cast<ptrdiff_t>(position(entries, call.arguments[1]));
  Value removed = listOf({*at});
  entries.erase(at);
  return listOf({{"", listOf(std::move(entries))}, {"", removed}});
}

/// The list that is a list's only entry; any other list as it is.
Value asList(HostCall &call) {
  const Entries &entries = entriesOf(call, 0, "as.list");
  if (entries.size() != 1 || !entries[0].second.as<std::shared_ptr<const List>>())
    return call.arguments[0];
  return entries[0].second;
}

/// cbind and rbind of matrices, some of them in lists
Value bind(HostCall &call) {
  Entries parts;
  for (const Value &argument : call.arguments) {
    if (auto *list = argument.as<std::shared_ptr<const List>>())
      std::ranges::copy((*list)->entries, std::back_inserter(parts));
    else
      parts.emplace_back("", argument);
  }
  std::vector<Value> matrices;
  for (const auto &[name, part] : parts)
    matrices.emplace_back(part.expectMatrix(call.name()));
  if (matrices.empty())
    call.fail("expected at least one matrix, got " + describe(call.arguments[0]));
  return bound(call.node.name != "rbind", matrices, call.name());
}

} // namespace

const HostTable &listFunctions() {
  static const HostTable table = {
      {"list", make},         {"listIndex", index}, {"listEntry", entry}, {"listAssign", assign},
      {"listAppend", append}, {"remove", remove},   {"as.list", asList},  {"cbind", bind},
      {"append", bind},       {"rbind", bind}};
  return table;
}

} // namespace headrace::script
