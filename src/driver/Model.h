// A program loaded from a file: compiled on demand, run, explained. What the command line and the
// Python package are made of; no MLIR header.
#pragma once

#include "driver/Explanation.h"
#include "driver/Settings.h"
#include "runtime/Executable.h"
#include "runtime/Program.h"

#include <filesystem>
#include <memory>

namespace headrace {

/// A phase of the compiler: a name for `--to=`, and one line on what holds after it.
struct PhaseInfo {
  std::string name;
  std::string summary;
};
const std::vector<PhaseInfo> &phases();

struct LevelOneProgram;

class Model {
public:
  /// Reads and imports the file; compiles nothing yet. Throws Error.
  static std::shared_ptr<Model> load(const std::filesystem::path &path,
                                     const Settings &settings = {});
  /// A program that a front end wrote (see LevelOneProgram.h).
  explicit Model(LevelOneProgram program, const Settings &settings = {});
  ~Model();

  const std::string &name() const;
  const std::vector<TensorSpec> &inputs() const;
  const std::vector<TensorSpec> &outputs() const;
  /// Names of the symbolic sizes, in the order DimExpr numbers them.
  const std::vector<std::string> &symbols() const;

  /// Runs the program, compiling it first for sizes not served yet. Any number of threads.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// Compiles for these inputs' sizes (done by run, too); the executable that serves them.
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs);

  /// Operator by operator in double precision; results in declared types, or in f64.
  std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble = false);

  /// The IR after a phase, for programs whose symbolic sizes have these values (nullopt: open).
  /// Throws Error where there is no such phase.
  std::string ir(const std::string &phase, const std::vector<std::optional<int64_t>> &sizes = {});
  Explanation explain(const std::vector<std::optional<int64_t>> &sizes = {});

  /// The values of the symbols for these inputs. Throws Error where an input does not fit.
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const;
  /// How many versions are compiled now.
  size_t compiledVersions() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace
