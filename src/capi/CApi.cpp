// The C interface: include/headrace/headrace.h.
#include "package/Package.h"
#include "runtime/program/Engine.h"

#include "capi/Status.h"
#include "script/PackagedScript.h"
#include <cstring>
#include <map>

using namespace headrace;
using namespace headrace::capi;

namespace {

/// A spec with what its pointers point to.
struct OwnedSpec {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<std::string> texts;
  std::vector<const char *> textPointers;
  headrace_spec view{};

  OwnedSpec(const TensorSpec &spec, const Program &program) : name(spec.name) {
    std::vector<std::string> symbols;
    symbols.reserve(program.symbols.size());
    for (const Symbol &symbol : program.symbols)
      symbols.push_back(symbol.name);
    for (const DimExpr &dim : spec.dims) {
      dims.push_back(dim.asConstant().value_or(-1));
      texts.push_back(dim.str(symbols));
    }
    for (const std::string &text : texts)
      textPointers.push_back(text.c_str());
    view = {name.c_str(), dims.data(), textPointers.data(), static_cast<int32_t>(dims.size()),
            static_cast<int32_t>(spec.dtype)};
  }
  explicit OwnedSpec(const PackagedTensor &tensor) : name(tensor.name), dims(tensor.dims) {
    for (size_t i = 0; i < dims.size(); ++i)
      texts.push_back(dims[i] >= 0 ? std::to_string(dims[i]) : tensor.dimNames[i]);
    for (const std::string &text : texts)
      textPointers.push_back(text.c_str());
    view = {name.c_str(), dims.data(), textPointers.data(), static_cast<int32_t>(dims.size()),
            static_cast<int32_t>(tensor.dtype)};
  }
  explicit OwnedSpec(const ScriptVariable &variable) : name(variable.name) {
    if (variable.isMatrix) {
      dims = {-1, -1};
      textPointers = {"rows", "columns"};
    }
    view = {name.c_str(), dims.data(), textPointers.data(), static_cast<int32_t>(dims.size()),
            HEADRACE_F64};
  }
  OwnedSpec(const OwnedSpec &) = delete;
};

} // namespace

/// One of three.
struct headrace_program {
  std::shared_ptr<const PackageProgram> program;
  std::unique_ptr<const script::ScriptProgram> script;
  std::shared_ptr<const PackageSplitModel> split;
  std::vector<std::unique_ptr<OwnedSpec>> inputs, outputs;
};

struct headrace_package {
  std::shared_ptr<const Package> package;
  std::vector<std::unique_ptr<headrace_program>> programs;
};

struct headrace_result {
  std::vector<Tensor> tensors;
  std::vector<headrace_tensor> views;
};

namespace {

static_assert(HEADRACE_F64 == static_cast<int>(DType::F64) &&
              HEADRACE_F16 == static_cast<int>(DType::F16) &&
              HEADRACE_U64 == static_cast<int>(DType::U64) &&
              HEADRACE_BOOL == static_cast<int>(DType::Bool) &&
              HEADRACE_F8E8M0 == static_cast<int>(DType::F8E8M0));

DType typeOf(const headrace_tensor &tensor) {
  require(tensor.type >= HEADRACE_BOOL && tensor.type <= HEADRACE_F8E8M0,
          "tensor: expected a headrace_type");
  return static_cast<DType>(tensor.type);
}

Shape shapeOf(const headrace_tensor &tensor) {
  require(tensor.rank >= 0 && tensor.rank <= 64 && (tensor.rank == 0 || tensor.shape),
          "tensor: expected a rank of 0 to 64 and as many sizes");
  return Shape(tensor.shape, tensor.shape + tensor.rank);
}

/// The caller's memory as tensors. Programs of a device take memory of either kind, which its
/// engine tells apart.
class Borrower {
public:
  explicit Borrower(const headrace_program &program)
      : engine(findEngine(program.program ? program.program->engine()
                          : program.split ? program.split->engine()
                                          : hostEngine)) {}
  Tensor operator()(const headrace_tensor &tensor, Shape shape) const {
    MemorySpace place = tensor.data ? engine.placeOf(tensor.data) : MemorySpace();
    return Tensor::borrow(typeOf(tensor), std::move(shape), tensor.data, nullptr, place);
  }

private:
  const Engine &engine;
};

std::vector<Tensor> inputsOf(const headrace_program *program, const headrace_tensor *inputs,
                             size_t count, bool dataNeeded) {
  require(program && (inputs || count == 0), "expected a program and its inputs, got null");
  std::vector<Tensor> tensors;
  Borrower borrow(*program);
  for (size_t i = 0; i < count; ++i) {
    tensors.push_back(borrow(inputs[i], shapeOf(inputs[i])));
    require(!dataNeeded || inputs[i].data || tensors.back().elements() == 0,
            "input: expected data, got null");
  }
  return tensors;
}

Shape outputShape(const Executable &version, std::span<const Tensor> inputs, size_t output) {
  const Program &program = version.program();
  require(output < program.outputs.size(), "there is no output of that number");
  std::vector<int64_t> symbols = version.bind(inputs).value_or(std::vector<int64_t>());
  Shape shape;
  for (const DimExpr &dim : program.outputs[output].dims)
    shape.push_back(dim.evaluate(symbols));
  return shape;
}

headrace_status openWith(headrace_package **result,
                         std::shared_ptr<const Package> (*open)(const void *), const void *what) {
  return guarded([&] {
    require(result && what, "expected a package to open, got null");
    *result = nullptr;
    auto package = std::make_unique<headrace_package>();
    package->package = open(what);
    for (const auto &program : package->package->programs()) {
      auto entry = std::make_unique<headrace_program>();
      entry->program = program;
      const Program &declared = program->interface();
      for (const TensorSpec &spec : declared.inputs)
        entry->inputs.push_back(std::make_unique<OwnedSpec>(spec, declared));
      for (const TensorSpec &spec : declared.outputs)
        entry->outputs.push_back(std::make_unique<OwnedSpec>(spec, declared));
      package->programs.push_back(std::move(entry));
    }
    for (const auto &script : package->package->scripts()) {
      auto entry = std::make_unique<headrace_program>();
      entry->script = std::make_unique<script::ScriptProgram>(script);
      for (const ScriptVariable &variable : script->inputs())
        entry->inputs.push_back(std::make_unique<OwnedSpec>(variable));
      for (const ScriptVariable &variable : script->outputs())
        entry->outputs.push_back(std::make_unique<OwnedSpec>(variable));
      package->programs.push_back(std::move(entry));
    }
    for (const auto &model : package->package->splitModels()) {
      auto entry = std::make_unique<headrace_program>();
      entry->split = model;
      for (const PackagedTensor &tensor : model->inputs())
        entry->inputs.push_back(std::make_unique<OwnedSpec>(tensor));
      for (const PackagedTensor &tensor : model->outputs())
        entry->outputs.push_back(std::make_unique<OwnedSpec>(tensor));
      package->programs.push_back(std::move(entry));
    }
    *result = package.release();
  });
}

headrace_result *resultOf(std::vector<Tensor> tensors) {
  auto made = std::make_unique<headrace_result>();
  made->tensors = std::move(tensors);
  for (Tensor &tensor : made->tensors)
    made->views.push_back({tensor.data(), tensor.shape().data(),
                           static_cast<int32_t>(tensor.shape().size()),
                           static_cast<int32_t>(tensor.dtype())});
  return made.release();
}

void copyOutputs(const std::vector<Tensor> &results, const headrace_tensor *outputs) {
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &result = results[i];
    if (typeOf(outputs[i]) != result.dtype() ||
        (outputs[i].shape && shapeOf(outputs[i]) != result.shape()))
      throw Error(ErrorKind::ShapeMismatch,
                  "output " + std::to_string(i) + ": expected memory for " +
                      std::string(nameOf(result.dtype())) + " " + shapeString(result.shape()));
    require(outputs[i].data || result.elements() == 0, "output: expected memory, got null");
    if (result.bytes() > 0)
      std::memcpy(outputs[i].data, result.data(), result.bytes());
  }
}

std::map<std::string, std::string> argumentsOf(const char *const *arguments, size_t count) {
  require(arguments || count == 0, "expected arguments, got null");
  std::map<std::string, std::string> found;
  for (size_t i = 0; i < count; ++i) {
    std::string_view text = arguments[i] ? arguments[i] : "";
    size_t at = text.find('=');
    if (at == std::string_view::npos || at == 0)
      throw Error(ErrorKind::InvalidArgument,
                  "argument: expected NAME=VALUE, got '" + std::string(text) + "'");
    found.emplace(text.substr(0, at), text.substr(at + 1));
  }
  return found;
}

const headrace_spec *specAt(const std::vector<std::unique_ptr<OwnedSpec>> &specs, size_t index) {
  return index < specs.size() ? &specs[index]->view : nullptr;
}

} // namespace

const char *headrace_version(void) { return HEADRACE_VERSION; }
int32_t headrace_abi_version(void) { return HEADRACE_ABI_VERSION; }
const char *headrace_last_error(void) { return lastErrorText(); }

headrace_status headrace_package_open(const char *path, headrace_package **package) {
  return openWith(
      package,
      [](const void *name) {
        return Package::open(std::filesystem::path(static_cast<const char *>(name)));
      },
      path);
}

headrace_status headrace_package_open_image(const headrace_image *image,
                                            headrace_package **package) {
  return openWith(
      package,
      [](const void *linked) { return Package::open(*static_cast<const PackageImage *>(linked)); },
      image);
}

void headrace_package_close(headrace_package *package) { delete package; }

const char *headrace_package_level(const headrace_package *package) {
  return package->package->level().c_str();
}

size_t headrace_package_program_count(const headrace_package *package) {
  return package->programs.size();
}

headrace_status headrace_package_program(const headrace_package *package, const char *name,
                                         const headrace_program **program) {
  return guarded([&] {
    require(package && program, "expected a package, got null");
    std::string wanted = name ? name : "";
    std::shared_ptr<const PackageScript> script = package->package->script(wanted);
    auto split = package->package->splitModel(wanted);
    auto dataflow = script || split ? nullptr : package->package->program(wanted);
    for (const auto &candidate : package->programs)
      if (script  ? candidate->script && &candidate->script->script() == script.get()
          : split ? candidate->split == split
                  : candidate->program && candidate->program == dataflow)
        *program = candidate.get();
  });
}

const headrace_program *headrace_package_program_at(const headrace_package *package, size_t index) {
  return index < package->programs.size() ? package->programs[index].get() : nullptr;
}

const char *headrace_program_name(const headrace_program *program) {
  return program->script  ? program->script->script().name().c_str()
         : program->split ? program->split->name().c_str()
                          : program->program->interface().name.c_str();
}
size_t headrace_program_input_count(const headrace_program *program) {
  return program->inputs.size();
}
size_t headrace_program_output_count(const headrace_program *program) {
  return program->outputs.size();
}
const headrace_spec *headrace_program_input(const headrace_program *program, size_t index) {
  return specAt(program->inputs, index);
}
const headrace_spec *headrace_program_output(const headrace_program *program, size_t index) {
  return specAt(program->outputs, index);
}

headrace_status headrace_output_shape(const headrace_program *program,
                                      const headrace_tensor *inputs, size_t input_count,
                                      size_t output, int64_t *shape) {
  return guarded([&] {
    std::vector<Tensor> tensors = inputsOf(program, inputs, input_count, /*dataNeeded=*/false);
    if (!program->program)
      throw Error(ErrorKind::Unsupported, "the shapes of a script's or split model's outputs are "
                                          "known when it has run: use headrace_run_new");
    Shape sizes = outputShape(*program->program->find(tensors), tensors, output);
    require(shape || sizes.empty(), "expected room for the shape, got null");
    std::copy(sizes.begin(), sizes.end(), shape);
  });
}

/// The tensors that a script or a split model returns; nothing for a program, which has steps.
static std::optional<std::vector<Tensor>> resultsOf(const headrace_program *program,
                                                    std::span<const Tensor> inputs) {
  if (program->script)
    return program->script->run(inputs);
  if (program->split)
    return program->split->run(inputs);
  return std::nullopt;
}

/// Scripts and split models have no sizes to ask for, no stream and no steps.
static const PackageProgram &dataflowOf(const headrace_program *program) {
  if (program->script)
    throw Error(ErrorKind::Unsupported,
                "'" + program->script->script().name() + "' is a script, which can only be run");
  if (program->split)
    throw Error(ErrorKind::Unsupported, "'" + program->split->name() +
                                            "' is split into several programs, so it can only "
                                            "be run");
  return *program->program;
}

static void requireOutputs(const headrace_program *program, const headrace_tensor *outputs,
                           size_t count) {
  require(outputs || count == 0, "expected outputs, got null");
  require(count == program->outputs.size(), "expected memory for all outputs");
}

static std::vector<Tensor> outputsOf(const headrace_program *program, const Executable &version,
                                     std::span<const Tensor> inputs, const headrace_tensor *outputs,
                                     size_t count) {
  std::vector<Tensor> results;
  Borrower borrow(*program);
  for (size_t i = 0; i < count; ++i) {
    Shape shape = outputs[i].shape ? shapeOf(outputs[i]) : outputShape(version, inputs, i);
    results.push_back(borrow(outputs[i], std::move(shape)));
    require(outputs[i].data || results.back().elements() == 0, "output: expected memory, got null");
  }
  return results;
}

headrace_status headrace_run(const headrace_program *program, const headrace_tensor *inputs,
                             size_t input_count, const headrace_tensor *outputs,
                             size_t output_count) {
  return guarded([&] {
    std::vector<Tensor> tensors = inputsOf(program, inputs, input_count, /*dataNeeded=*/true);
    requireOutputs(program, outputs, output_count);
    if (auto results = resultsOf(program, tensors))
      return copyOutputs(*results, outputs);
    std::shared_ptr<const Executable> version = program->program->find(tensors);
    std::vector<Tensor> results = outputsOf(program, *version, tensors, outputs, output_count);
    version->runInto(tensors, results);
  });
}

headrace_status headrace_enqueue(const headrace_program *program, const headrace_tensor *inputs,
                                 size_t input_count, const headrace_tensor *outputs,
                                 size_t output_count, void *stream) {
  return guarded([&] {
    std::vector<Tensor> tensors = inputsOf(program, inputs, input_count, /*dataNeeded=*/true);
    requireOutputs(program, outputs, output_count);
    std::shared_ptr<const Executable> version = dataflowOf(program).find(tensors);
    std::vector<Tensor> results = outputsOf(program, *version, tensors, outputs, output_count);
    version->enqueue(tensors, results, stream);
  });
}

headrace_status headrace_time_steps(const headrace_program *program, const headrace_tensor *inputs,
                                    size_t input_count, headrace_step *steps, size_t step_count,
                                    size_t *count) {
  return guarded([&] {
    require(count && (steps || step_count == 0), "expected a pointer to the steps, got null");
    std::vector<Tensor> tensors = inputsOf(program, inputs, input_count, /*dataNeeded=*/true);
    std::shared_ptr<const Executable> version = dataflowOf(program).find(tensors);
    std::vector<double> microseconds;
    version->run(tensors, ThreadPool::global(), &microseconds);
    const std::vector<Step> &all = version->program().steps;
    static thread_local std::vector<std::string> notes;
    notes = version->stepNotes();
    notes.resize(all.size());
    *count = all.size();
    for (size_t i = 0; i < std::min(step_count, all.size()); ++i)
      steps[i] = {all[i].name.c_str(), notes[i].c_str(), microseconds[i]};
  });
}

headrace_status headrace_run_new(const headrace_program *program, const headrace_tensor *inputs,
                                 size_t input_count, headrace_result **result) {
  return guarded([&] {
    require(result, "expected a pointer to the result, got null");
    *result = nullptr;
    std::vector<Tensor> tensors = inputsOf(program, inputs, input_count, /*dataNeeded=*/true);
    if (auto results = resultsOf(program, tensors)) {
      *result = resultOf(std::move(*results));
      return;
    }
    std::shared_ptr<const Executable> version = program->program->find(tensors);
    std::vector<Tensor> outputs;
    outputs.reserve(program->outputs.size());
    for (size_t i = 0; i < program->outputs.size(); ++i) // on the host, wherever the inputs are
      outputs.push_back(
          Tensor::allocate(version->program().outputs[i].dtype, outputShape(*version, tensors, i)));
    version->runInto(tensors, outputs);
    *result = resultOf(std::move(outputs));
  });
}

headrace_status headrace_run_script(const headrace_program *program, const char *const *arguments,
                                    size_t argument_count, const headrace_tensor *inputs,
                                    size_t input_count, headrace_result **result) {
  return guarded([&] {
    require(result, "expected a pointer to the result, got null");
    *result = nullptr;
    std::vector<Tensor> tensors = inputsOf(program, inputs, input_count, /*dataNeeded=*/true);
    require(program->script != nullptr, "expected a script: only scripts have arguments");
    *result = resultOf(program->script->run(tensors, argumentsOf(arguments, argument_count)));
  });
}

const headrace_tensor *headrace_result_output(const headrace_result *result, size_t index) {
  return index < result->views.size() ? &result->views[index] : nullptr;
}

void headrace_result_free(headrace_result *result) { delete result; }
