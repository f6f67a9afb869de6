// A model as it was imported: for the sizes that its guards allow, and again for others once they
// are asked for. `x[0:3]` is a slice of three if x has three elements or more, and all of x
// if it has less: two programs, of which importing writes the first one.
#pragma once

#include "driver/CompiledConstants.h"
#include "driver/LevelOneProgram.h"
#include "package/Contents.h"

#include "adaptive/VersionStore.h"

namespace headrace {

/// A program with the sizes that it serves.
struct ImportedProgram {
  /// Null for the first program, whose constants live as long as its context.
  std::unique_ptr<ImportedConstants> constants;
  LevelOneProgram program;
  /// The range of each of the model's symbols that the program serves, in order.
  std::vector<SizeRange> ranges;
  /// Whether the program was imported for one value of the symbol, and so does not have the symbol.
  std::vector<bool> isNumber;
  /// The number of this import among those of a model; the first one has 0.
  size_t number = 0;

  /// Whether the program serves these sizes; a size without a value stands for every value.
  bool serves(const Sizes &sizes) const;
  /// Those of the model's sizes that are symbols of the program.
  Sizes own(const Sizes &sizes) const;
};

/// `find` is safe from any thread.
class Imports {
public:
  /// Keeps at most `most` programs in addition to the given one.
  Imports(LevelOneProgram program, size_t most);

  LevelOneProgram &first() { return imported->program; }
  /// Whether sizes that the first one does not serve may be served.
  bool canImportAgain() const { return imported->program.importFor != nullptr; }

  /// The program for these sizes; null if it has to be imported.
  std::shared_ptr<ImportedProgram> find(const Sizes &sizes);
  /// Imports it, under the lock of the program's context. Throws Error, which names a node, if
  /// the model cannot have these sizes.
  std::shared_ptr<ImportedProgram> importFor(const Sizes &sizes);

private:
  std::shared_ptr<ImportedProgram> importRanges(const Sizes &sizes);
  std::shared_ptr<ImportedProgram> importNumbers(const Sizes &sizes, bool all);
  std::shared_ptr<ImportedProgram> importOne(const std::vector<SizeRange> &ranges);
  std::string text(const Sizes &sizes) const;

  const std::shared_ptr<ImportedProgram> imported; // the first one
  const Program interface;                         // its
  size_t count = 0;
  adaptive::VersionStore<size_t, ImportedProgram> others; // by number
};

} // namespace headrace
