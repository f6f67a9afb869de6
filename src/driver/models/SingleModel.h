// A model that is one program: its source, and the versions compiled of it.
#pragma once

#include "driver/LevelOneProgram.h"
#include "driver/models/Imports.h"
#include "driver/models/ModelImpl.h"

#include "adaptive/ExactVersions.h"
#include "adaptive/Signature.h"

namespace headrace {

/// An import (Imports.h) with the sizes that are fixed, others being dynamic.
struct VersionKey {
  size_t import = 0;
  Sizes sizes; // of the import's symbols
  Sizes named; // of the model's symbols

  friend bool operator==(const VersionKey &a, const VersionKey &b) {
    return a.import == b.import && a.sizes == b.sizes;
  }
};

/// A version, and how long it took to compile it.
struct CompiledVersion {
  std::shared_ptr<const Executable> executable;
  double microseconds = 0;
};

class SingleModel : public Model::Impl {
public:
  SingleModel(LevelOneProgram program, const Settings &settings);

  std::string engine() const override;
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override;
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs) override;
  void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) override;
  void addCall(std::span<const Tensor> inputs, double microseconds) override;
  std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble) override;
  Explanation explain(const Sizes &sizes) override;
  std::vector<TensorSpec> weights() override;
  std::unique_ptr<Model::Impl> withGradient(const GradientOptions &options) override;
  ForwardBackward forwardAndBackward(const GradientOptions &options) override;
  size_t compiledVersions() const override;
  void finishCompiling() const override;
  SingleModel &single(const char *) override {
    requireUnchangedFiles();
    return *this;
  }

  LevelOneProgram &source() { return imports.first(); }
  /// Throws Error if a file that constants lie in has changed.
  void requireUnchangedFiles();
  /// The program that serves these sizes, imported again where the first one does not.
  std::shared_ptr<ImportedProgram> programFor(const Sizes &sizes);
  /// How a program is compiled: one that was imported again as far as it can follow a recipe, which
  /// is the first one's.
  Settings settingsFor(const ImportedProgram &program) const;
  /// The sizes that the version for these symbols was compiled for, or is to be.
  Sizes versionFor(std::span<const int64_t> symbols) const;
  void requirePhase(const std::string &phase, bool hasGradient) const;
  /// The program after a phase of its gradient's, forward and backward apart, as `shown` makes it
  /// readable under the lock; nothing if the phase comes after those.
  template <class Shown>
  std::optional<Shown> afterGradientPhase(const std::string &phase, const GradientOptions &options,
                                          Shown (*shown)(const SingleModel &, LevelOneProgram));

  /// For a program with gradients: returns the IR after a phase of differentiation.
  std::function<std::optional<std::string>(const std::string &phase)> gradientIr;
  /// One compilation at a time in a context, which the models of gradients share.
  std::shared_ptr<LongLock> compileLock;

private:
  /// The name for the log of a version, by the sizes that are fixed: "n = 5, m >= 2"; of a part of
  /// a program the shapes of its inputs: "boxes: 5x4, scores: ?x3".
  adaptive::VersionName versionName(const Sizes &sizes) const;
  /// Compiles the version unless it exists already.
  std::shared_ptr<const CompiledVersion> compiled(ImportedProgram &program, const Sizes &sizes);
  /// Compiles a version for exact sizes, in the background.
  std::shared_ptr<const Executable> compileExact(const std::vector<int64_t> &sizes);
  /// Records a call of the general version for these sizes.
  void addCall(const ImportedProgram &program, std::span<const int64_t> sizes, double microseconds,
               double compileMicroseconds);

  std::string part; // LevelOneProgram's
  Imports imports;
  /// Versions by the sizes that are fixed.
  adaptive::VersionStore<VersionKey, const CompiledVersion> versions;
  /// Null if sizes do not get versions of their own; the last member, because its destructor waits
  /// for a compilation that uses the others.
  std::unique_ptr<adaptive::ExactVersions> exact;
};

inline LevelOneProgram copied(LevelOneProgram &program) {
  return {program.name,      program.context, program.module->clone(), program.files,
          program.importFor, program.part,    program.contextLock};
}

} // namespace headrace
