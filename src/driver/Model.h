// A program loaded from a file: compiled on demand, run, explained. The command line and the Python
// package are built on it; no MLIR header.
#pragma once

#include "driver/ProgramGraph.h"
#include "driver/Settings.h"
#include "explore/operators/OperatorGraph.h"
#include "frontend/onnx/read/FileNotes.h"
#include "runtime/program/Executable.h"
#include "runtime/program/Explanation.h"
#include "runtime/program/Program.h"
#include "runtime/value/RuntimeValue.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <variant>

namespace headrace {

/// A phase of the compiler: a name for `--to=`, and one line on what holds after it.
struct PhaseInfo {
  std::string name;
  std::string summary;
};
/// The phases of a target, in order.
std::vector<PhaseInfo> phases(const std::string &target = hostTarget);
/// The phases of differentiation, which run before these.
std::vector<PhaseInfo> gradientPhases();

class Package;
struct LevelOneProgram;
struct ModelFile;
namespace split {
class SplitProgram;
}

/// An input or output that may be more than a tensor of numbers.
struct ValueSpec {
  std::string name;
  /// "f32", "string", "sequence(f32)", "optional(sequence(i64))"; "?" if it is not known.
  std::string type;
  /// A size is a number, or the name of an open one ("" if it has none); nullopt if the rank
  /// is not known, or there is none.
  std::optional<std::vector<std::variant<int64_t, std::string>>> shape;
};

/// The inputs and outputs of a model as its file declares them; `defaults` are the inputs that it
/// gives a value of their own. All empty for a program that is not read from a model's file.
struct DeclaredValues {
  std::vector<ValueSpec> inputs, outputs, defaults;
};

/// Which gradients, and what may be kept for them.
struct GradientOptions {
  /// Names of inputs or weights; none: every input of floating-point type.
  std::vector<std::string> wrt;
  /// Whether the program's own outputs are before the gradients.
  bool values = true;
  /// Forward and backward: most bytes kept between them beyond inputs and outputs (dynamic
  /// dimensions count as what they are expected to be, see SizeHints.h); nullopt: what is fastest.
  std::optional<int64_t> memoryBudget;
};

/// A tensor that a backward program takes, and where the forward program has it.
struct SavedTensor {
  enum class Place { Input, Output };
  Place place;
  size_t index;
  TensorSpec spec;
};

struct ForwardBackward;
struct KernelTrace;
struct RoundedRuns;

/// The time that one call of a model spends on a step: a kernel or routine, or, of a split model, a
/// node that runs between programs.
struct ProfiledStep {
  std::string name;
  std::vector<std::string> operators;
  std::string routine; // of a library; empty for generated code
  std::string engine;
  bool isBetween = false; // a node on the host
  int64_t runs = 0;       // in the call
  // Of all runs:
  double microseconds = 0; // without what runs inside of it
  /// The cost model's prediction; nothing for nodes on the host.
  std::optional<KernelPrediction> predicted;
  int64_t bytes = 0, operations = 0;
};

/// A loaded program: compiles itself for the shapes of its calls, and caches compiled versions. Any
/// number of threads may call it.
class Model {
public:
  /// Reads and imports the file, or opens it if it is a package; compiles nothing yet. Throws
  /// Error.
  static std::shared_ptr<Model> load(const std::filesystem::path &path,
                                     const Settings &settings = {});
  /// Reads and imports the bytes of an ONNX file, which is named `name` in messages and has no
  /// external data. Keeps copies of what it needs. Throws Error.
  static std::shared_ptr<Model> load(std::span<const std::byte> bytes, const std::string &name,
                                     const Settings &settings = {});
  /// A program of a package that is open, which is named `name` in messages.
  static std::shared_ptr<Model> load(const Package &package, const std::string &name,
                                     const Settings &settings = {});
  /// A program that a front end wrote (see LevelOneProgram.h).
  explicit Model(LevelOneProgram program, const Settings &settings = {});
  /// A model that is split into several programs (SplitProgram.h).
  explicit Model(std::shared_ptr<split::SplitProgram> program);
  ~Model();
  /// A kind of model: one program, several, or those of a package (ModelImpl.h).
  struct Impl;

  const std::string &name() const;
  const std::vector<TensorSpec> &inputs() const;
  const std::vector<TensorSpec> &outputs() const;
  /// Notes of the writer of a model's file, by the writer's own keys; a package has none.
  const std::map<std::string, std::string> &metadata() const;
  /// What else the file says about the model; a package says nothing.
  const onnx::FileNotes &notes() const;
  const DeclaredValues &declared() const;
  /// The named constants of floating-point type, which gradients may be asked for.
  std::vector<TensorSpec> weights() const;
  /// Like `inputs` and `outputs`, for values of any type.
  std::vector<ValueSpec> inputValues() const;
  std::vector<ValueSpec> outputValues() const;
  /// Whether the model is split into several programs, because shapes, control flow or constants
  /// depend on data. Such a model has no executable.
  bool isSplit() const;
  /// For a split model: what is compiled and what runs between, line by line.
  std::string splitText() const;
  /// For a split model: the steps of a call in the order of their first run, each with its median
  /// over `calls` calls. Throws Error for every other model.
  std::vector<ProfiledStep> profileSteps(std::span<const RuntimeValue> inputs, int calls);
  /// The results of one call, and the time of each of its steps in order, without predictions.
  std::vector<RuntimeValue> runProfiled(std::span<const RuntimeValue> inputs,
                                        std::vector<ProfiledStep> &steps);
  /// Names of the dynamic dimensions, in the order DimExpr numbers them.
  const std::vector<std::string> &symbols() const;

  /// Calls run on this many threads; 0, as before this: on as many as the process has. Not while
  /// another thread calls.
  void useThreads(int threads);
  /// Runs the program, compiling it first for sizes not served yet. Any number of threads.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// Like `run`, but writes the results to those `outputs` that are tensors, and makes tensors of
  /// the others. Throws Error if a tensor does not fit, and for a split model.
  void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// Compiles for these inputs' sizes (done by run, too); the executable that serves them.
  std::shared_ptr<const Executable> compile(std::span<const Tensor> inputs);
  /// Records a call that a caller made with the executable of `compile`; `run` does so itself. Once
  /// calls have taken long enough, these sizes get a version of their own.
  void addCall(std::span<const Tensor> inputs, double microseconds);

  /// Like `run`, for values of any type; only split models take or return anything but numeric
  /// tensors. If `wanted` says no, an output may be nothing: what only it needs is not computed.
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &wanted = {});
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs,
                                            bool keepDouble = false);

  /// Operator by operator in double precision; results in declared types, or in f64.
  std::vector<Tensor> reference(std::span<const Tensor> inputs, bool keepDouble = false);

  /// Like `reference`, in f64, but with the errors that rounding has in the declared types
  /// (RoundedArithmetic.h), `scale` times as large: what a straightforward implementation computes.
  std::vector<Tensor> roundedReference(std::span<const Tensor> inputs, uint64_t seed,
                                       double scale = 1);
  /// Like `roundedReference`, for values of any type; other values than floats have their types.
  std::vector<RuntimeValue> roundedReferenceValues(std::span<const RuntimeValue> inputs,
                                                   uint64_t seed, double scale = 1);
  /// What the steps of the compiled program compute, next to what the reference has for the same
  /// values: see KernelTrace.h. With a `package`, what its code computes, if its program is the
  /// one that this model has for its CPU.
  KernelTrace traceKernels(std::span<const Tensor> inputs, const RoundedRuns &runs,
                           const Model *package = nullptr);

  /// The IR after a phase, for programs whose dynamic dimensions have these values (nullopt:
  /// dynamic). Throws Error if there is no such phase.
  std::string ir(const std::string &phase, const std::vector<std::optional<int64_t>> &sizes = {});
  /// The program after a phase as data; the node `codeOf`, or with "*" every node, comes with its
  /// IR. Throws Error if there is no such phase.
  ProgramGraph graph(const std::string &phase,
                     const std::vector<std::optional<int64_t>> &sizes = {},
                     const std::string &codeOf = "");
  /// The program as operators with the volumes that they move, for exploration. Throws Error if
  /// a dynamic dimension has no value, or a value is empty.
  explore::OperatorGraph operators(explore::Granularity granularity,
                                   const std::vector<std::optional<int64_t>> &sizes = {});
  /// The IR after a phase on the way to `forwardAndBackward`: of gradients, or of both programs.
  std::string gradientIr(const std::string &phase, const GradientOptions &options = {},
                         const std::vector<std::optional<int64_t>> &sizes = {}) const;
  /// The program after such a phase as data: "forward" and "backward" once it is split, before that
  /// one without a name.
  std::vector<std::pair<std::string, ProgramGraph>>
  gradientGraphs(const std::string &phase, const GradientOptions &options = {},
                 const std::vector<std::optional<int64_t>> &sizes = {}) const;
  /// For a split model: all programs compiled so far, at the sizes that they were compiled for.
  Explanation explain(const std::vector<std::optional<int64_t>> &sizes = {});
  /// Each step of the program that serves these inputs, as the cost model expects it to run on
  /// `threads` threads. Throws Error for a package, which holds compiled code only.
  std::vector<KernelPrediction> predict(std::span<const Tensor> inputs, int threads);

  /// The program with the gradients of its results. A result of one element has the gradient 1;
  /// for every other of floating-point type there is one more input, NAME.grad. Throws Error if
  /// an operator has no gradient; a split model does so when it runs.
  std::shared_ptr<Model> withGradient(const GradientOptions &options = {}) const;
  /// Values and gradients as two programs. The forward one has further outputs, the saved tensors,
  /// which the backward one takes; see ForwardBackward. Of a split model the saved tensors are one
  /// value, a sequence ("tape"); with a memory budget they are its inputs.
  ForwardBackward forwardAndBackward(const GradientOptions &options = {}) const;

  /// A copy of the program at level 1. Throws Error for a split model or a package.
  LevelOneProgram copyOfProgram() const;

  /// The engine that it is compiled for, which runs what it can of it.
  std::string engine() const;
  /// This program compiled for another target ("cuda").
  std::shared_ptr<Model> to(const std::string &target) const;

  /// The values of the symbols for these inputs. Throws Error if an input does not fit.
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const;
  /// How many versions are compiled now.
  size_t compiledVersions() const;
  /// Waits for versions that are being compiled in the background (Settings::specialize).
  void finishCompiling() const;

private:
  static std::shared_ptr<Model> of(ModelFile file, const Settings &settings);
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// A program and its gradient. `forward` has the outputs of the program, then what is kept besides;
/// `backward` takes the tensors `kept` names, in that order, then the gradients of the program's
/// outputs of floating-point type, and yields the gradients asked for.
struct ForwardBackward {
  std::shared_ptr<Model> forward, backward;
  std::vector<SavedTensor> kept;
  /// Operators of the forward program whose results the backward one computes again.
  std::vector<std::string> computedAgain;
  /// Choices made before the program was split, as steps of a recipe (GradientRecipe::split).
  std::string choices;
};

} // namespace headrace
