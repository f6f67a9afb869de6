#include "driver/models/Imports.h"

#include "runtime/program/BindInputs.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

bool ImportedProgram::serves(const Sizes &sizes) const {
  for (size_t i = 0; i < ranges.size(); ++i)
    if (sizes[i] ? !ranges[i].contains(*sizes[i]) : isNumber[i])
      return false;
  return true;
}

Sizes ImportedProgram::own(const Sizes &sizes) const {
  Sizes own;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!isNumber[i])
      own.push_back(sizes[i]);
  return own;
}

static std::shared_ptr<ImportedProgram> asFirst(LevelOneProgram program) {
  auto first = std::make_shared<ImportedProgram>();
  for (const Symbol &symbol : program.interface().symbols)
    first->ranges.push_back({symbol.min, symbol.max});
  first->isNumber.resize(first->ranges.size());
  first->program = std::move(program);
  return first;
}

Imports::Imports(LevelOneProgram program, size_t most)
    : imported(asFirst(std::move(program))), interface(imported->program.interface()),
      others(most) {}

std::shared_ptr<ImportedProgram> Imports::find(const Sizes &sizes) {
  if (imported->serves(sizes))
    return imported;
  return others.findIf([&](size_t, const ImportedProgram &other) { return other.serves(sizes); });
}

std::shared_ptr<ImportedProgram> Imports::importFor(const Sizes &sizes) {
  auto isNegative = [](const std::optional<int64_t> &size) { return size && *size < 0; };
  if (!canImportAgain() || std::ranges::any_of(sizes, isNegative)) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < sizes.size(); ++i)
      values.push_back(sizes[i].value_or(interface.symbols[i].min));
    throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(interface, values));
  }
  std::shared_ptr<ImportedProgram> made = importRanges(sizes);
  if (!made)
    made = importNumbers(sizes, /*all=*/false);
  if (!made)
    made = importNumbers(sizes, /*all=*/true);
  others.add(made->number, made);
  return made;
}

/// One program for all sizes on the other side of the guards. What is imported there may be guarded
/// in turn: so the ranges become narrower until these sizes are inside. Null if that does not
/// come about.
std::shared_ptr<ImportedProgram> Imports::importRanges(const Sizes &sizes) {
  constexpr int maxAttempts = 8;
  std::vector<SizeRange> ranges(sizes.size());
  std::shared_ptr<ImportedProgram> last = imported;
  for (int attempt = 0; attempt < maxAttempts && !last->serves(sizes); ++attempt) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i])
        ranges[i].moveBeside(last->ranges[i], *sizes[i]);
    try {
      last = importOne(ranges);
    } catch (const Error &) {
      return nullptr;
    }
  }
  return last->serves(sizes) ? last : nullptr;
}

/// A program for the very sizes: of those that the first one does not serve, or all. Null if
/// others may still help.
std::shared_ptr<ImportedProgram> Imports::importNumbers(const Sizes &sizes, bool all) {
  std::vector<SizeRange> ranges(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] && (all || !imported->ranges[i].contains(*sizes[i])))
      ranges[i] = {*sizes[i], *sizes[i]};
  try {
    std::shared_ptr<ImportedProgram> made = importOne(ranges);
    if (made->serves(sizes))
      return made;
  } catch (const Error &error) {
    if (all)
      throw Error(error.kind(), error.what() + (", for " + text(sizes)));
  }
  if (all)
    throw InternalError("a program for fixed sizes does not support them");
  return nullptr;
}

std::shared_ptr<ImportedProgram> Imports::importOne(const std::vector<SizeRange> &ranges) {
  SizeRanges named;
  for (size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i] != SizeRange())
      named[interface.symbols[i].name] = ranges[i];
  auto made = std::make_shared<ImportedProgram>();
  made->constants = std::make_unique<ImportedConstants>(first().context);
  made->program = first().importFor(named);
  made->constants->close();
  made->ranges = ranges;
  std::vector<Symbol> symbols = made->program.interface().symbols;
  size_t next = 0;
  for (SizeRange &range : made->ranges) {
    made->isNumber.push_back(range.isOneSize());
    if (range.isOneSize())
      continue;
    const Symbol &symbol = symbols.at(next++);
    range = {symbol.min, symbol.max};
  }
  made->number = ++count;
  return made;
}

std::string Imports::text(const Sizes &sizes) const {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i])
      text += (text.empty() ? "" : ", ") + interface.symbols[i].name + " = " +
              std::to_string(*sizes[i]);
  return text;
}

} // namespace headrace
