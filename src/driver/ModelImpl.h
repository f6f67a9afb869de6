// The parts of a model, for the files that implement it.
#pragma once

#include "driver/Imports.h"
#include "driver/Model.h"
#include "driver/PlanCache.h"
#include "driver/ShapeSpecializations.h"
#include "driver/programs/LevelOneProgram.h"
#include "driver/staged/StagedProgram.h"
#include "package/Package.h"
#include "runtime/system/Error.h"

namespace headrace {

struct Model::Impl {
  std::string name;
  Settings settings;
  /// The program to compile; null if it is out of a package.
  std::unique_ptr<Imports> imports;
  /// For a program with gradients: returns the IR after a phase of differentiation.
  std::function<std::optional<std::string>(const std::string &phase)> gradientIr;
  std::shared_ptr<const PackageProgram> packaged;
  /// Set if the model is split into several programs.
  std::shared_ptr<staged::StagedProgram> staged;
  /// Interface of the program as loaded, any size allowed; used to check and bind inputs.
  Program interface;
  std::vector<std::string> symbols;
  std::map<std::string, std::string> metadata;
  onnx::FileNotes notes;
  DeclaredValues declared;
  int threads = 0; // of calls; 0: as many as the process has

  PlanCache plans;
  /// One compilation at a time in a context, which the models of gradients share.
  std::shared_ptr<LongLock> compileLock;
  /// Where sizes that are used a lot get versions of their own; the last member, because its
  /// destructor waits for a compilation that uses the others.
  std::unique_ptr<ShapeSpecializations> fixed;

  explicit Impl(std::string givenName)
      : name(std::move(givenName)),
        compileLock(std::make_shared<LongLock>("model '" + name + "'")) {}

  void setInterface(const Program &program) {
    interface = program;
    for (const Symbol &symbol : interface.symbols)
      symbols.push_back(symbol.name);
  }

  Sizes checked(const Sizes &sizes) const {
    if (sizes.size() > symbols.size())
      throw Error(ErrorKind::InvalidArgument,
                  name + ": the program has " + std::to_string(symbols.size()) +
                      " dynamic dimensions, " + std::to_string(sizes.size()) +
                      " values were given");
    Sizes full = sizes;
    full.resize(symbols.size());
    return full;
  }

  /// The program's source, for questions that a package cannot answer.
  LevelOneProgram &sourceFor(const char *what) {
    if (staged)
      throw Error(ErrorKind::Unsupported,
                  name + ": expected a model that is one program to show " + what +
                      ", got one split into several programs, because its shapes, "
                      "control flow or values depend on data");
    if (!imports)
      throw Error(ErrorKind::Unsupported, name + ": expected a model to show " + what +
                                              ", got a package, which holds compiled code only");
    for (const auto &file : imports->first().files)
      file->requireUnchanged();
    return imports->first();
  }

  /// The program that serves these sizes, imported again if the first one does not.
  std::shared_ptr<ImportedProgram> programFor(const Sizes &sizes);
  /// How a program is compiled: one that was imported again as far as it can follow a recipe, which
  /// is the first one's.
  Settings settingsFor(const ImportedProgram &program) const;
  /// The sizes that the version for these symbols was compiled for, or is to be.
  Sizes versionFor(std::span<const int64_t> symbols) const;
  /// Compiles the version unless it exists already.
  CompiledVersion compiled(ImportedProgram &program, const Sizes &sizes);
  /// Compiles a shape specialization, in the background.
  std::shared_ptr<const Executable> compileFixed(const Sizes &sizes);
  void requirePhase(const std::string &phase, bool hasGradient) const;
  /// The program after a phase of its gradient's, forward and backward apart, as `shown` makes it
  /// readable under the lock; nothing if the phase comes after those.
  template <class Shown>
  std::optional<Shown> afterGradientPhase(const std::string &phase, const GradientOptions &options,
                                          Shown (*shown)(const Impl &, LevelOneProgram));
};

/// Tensors as values, and values as tensors; `role` is for the message if one is something else.
std::vector<RuntimeValue> asValues(std::span<const Tensor> tensors);
std::vector<Tensor> asTensors(mlir::ArrayRef<RuntimeValue> values, mlir::ArrayRef<TensorSpec> specs,
                              const char *role);

inline LevelOneProgram copied(LevelOneProgram &program) {
  return {program.name, program.context, program.module->clone(), program.files, program.importFor};
}

} // namespace headrace
