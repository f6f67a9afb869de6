// A model as it was imported: for the sizes that its guards allow, and again for others once they
// are asked for. `x[0:3]` is a slice of three where x has three elements or more, and all of x
// where it has less: two programs, of which importing writes the first one.
#pragma once

#include "driver/CompiledConstants.h"
#include "driver/programs/LevelOneProgram.h"
#include "package/Contents.h"
#include "runtime/system/ForkSafety.h"

#include <list>

namespace headrace {

/// A program with the sizes that it serves.
struct ImportedProgram {
  /// Null of the first one, which is there as long as its context.
  std::unique_ptr<ImportedConstants> constants;
  LevelOneProgram program;
  /// Of each size of the model, in order.
  std::vector<SizeRange> ranges;
  /// Whether it was imported for one value of the size, which the program does not have open then.
  std::vector<bool> isNumber;
  /// By which the imports of a model differ; 0 is the first one's.
  size_t number = 0;

  /// A size without value is any.
  bool serves(const Sizes &sizes) const;
  /// Of sizes of the model, those that the program has.
  Sizes own(const Sizes &sizes) const;
};

/// `find` is safe from any thread.
class Imports {
public:
  /// Keeps at most so many beside the program.
  Imports(LevelOneProgram program, size_t most);

  LevelOneProgram &first() { return imported->program; }
  /// Whether sizes that the first one does not serve may be served.
  bool canImportAgain() const { return imported->program.importFor != nullptr; }

  /// The program for these sizes; null if it has to be imported.
  std::shared_ptr<ImportedProgram> find(const Sizes &sizes);
  /// Imports it, under the lock of the program's context. Throws Error, which names a node, where
  /// the model cannot have these sizes.
  std::shared_ptr<ImportedProgram> importFor(const Sizes &sizes);

private:
  std::shared_ptr<ImportedProgram> importRanges(const Sizes &sizes);
  std::shared_ptr<ImportedProgram> importNumbers(const Sizes &sizes, bool all);
  std::shared_ptr<ImportedProgram> importOne(const std::vector<SizeRange> &ranges);
  void keep(const std::shared_ptr<ImportedProgram> &made);
  std::string text(const Sizes &sizes) const;

  const std::shared_ptr<ImportedProgram> imported; // the first one
  const Program interface;                         // its
  const size_t most;
  size_t count = 0;
  std::list<std::shared_ptr<ImportedProgram>> others; // most recently used first
  ForkSafeMutex mutex;
};

} // namespace headrace
