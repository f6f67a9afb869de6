#include "driver/Model.h"
#include "driver/package/PackageCompiler.h"
#include "package/Package.h"
#include "runtime/program/Devices.h"
#include "runtime/program/Engine.h"
#include "runtime/system/ThreadChoice.h"
#include "runtime/system/ThreadPool.h"

#include "Arrays.h"
#include "Bindings.h"
#include "Interpreter.h"
#include "Values.h"
#include "adaptive/CompileLog.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using Sizes = std::vector<std::optional<int64_t>>;

// A package that the caller opened already, or null.
std::shared_ptr<Model> load(const std::filesystem::path &path, const Package *package,
                            const Settings &settings) {
  return unlocked([&] {
    return package ? Model::load(*package, path.filename().string(), settings)
                   : Model::load(path, settings);
  });
}

std::shared_ptr<Model> loadBytes(const nb::bytes &bytes, const Settings &settings) {
  std::span data(static_cast<const std::byte *>(bytes.data()), bytes.size());
  return unlocked([&] { return Model::load(data, "model", settings); });
}

// Null if the file is not a package.
std::shared_ptr<const Package> openPackage(const std::filesystem::path &path) {
  return unlocked([&] { return Package::isNamedLikeOne(path) ? Package::open(path) : nullptr; });
}

nb::list specsToPython(const std::vector<TensorSpec> &specs,
                       const std::vector<std::string> &symbols) {
  nb::list list;
  for (const TensorSpec &spec : specs) {
    nb::list shape;
    for (const DimExpr &dim : spec.dims)
      shape.append(dimensionToPython(dim, symbols));
    list.append(nb::make_tuple(spec.name, std::string(nameOf(spec.dtype)), nb::tuple(shape)));
  }
  return list;
}

nb::list valueSpecsToPython(const std::vector<ValueSpec> &specs) {
  nb::list list;
  for (const ValueSpec &spec : specs) {
    nb::object shape = nb::none();
    if (spec.shape) {
      nb::list sizes;
      for (const auto &size : *spec.shape)
        std::visit([&](const auto &value) { sizes.append(value); }, size);
      shape = nb::tuple(sizes);
    }
    list.append(nb::make_tuple(spec.name, spec.type, shape));
  }
  return list;
}

nb::list inputsToPython(const Model &model) {
  return model.isSplit() ? valueSpecsToPython(model.inputValues())
                         : specsToPython(model.inputs(), model.symbols());
}

nb::list outputSpecsToPython(const Model &model) {
  return model.isSplit() ? valueSpecsToPython(model.outputValues())
                         : specsToPython(model.outputs(), model.symbols());
}

// As the model's file declares them: inputs, outputs and inputs with defaults.
nb::tuple declaredToPython(const Model &model) {
  const DeclaredValues &declared = model.declared();
  return nb::make_tuple(valueSpecsToPython(declared.inputs), valueSpecsToPython(declared.outputs),
                        valueSpecsToPython(declared.defaults));
}

nb::dict notesToPython(const Model &model) {
  const onnx::FileNotes &notes = model.notes();
  nb::dict dict;
  dict["producer_name"] = notes.producer;
  dict["domain"] = notes.domain;
  dict["description"] = notes.description;
  dict["version"] = notes.version;
  dict["graph_name"] = notes.graphName;
  dict["graph_description"] = notes.graphDescription;
  return dict;
}

std::vector<RuntimeValue> valuesFromPython(const nb::list &values) {
  std::vector<RuntimeValue> result;
  for (nb::handle value : values)
    result.push_back(valueFromPython(value));
  return result;
}

nb::list valuesToPython(std::vector<RuntimeValue> values) {
  nb::list list;
  for (RuntimeValue &value : values)
    list.append(valueToPython(std::move(value)));
  return list;
}

// Values are as Values.h says. Outputs that are not requested are None.
nb::list runValues(Model &model, const nb::list &values, const std::vector<bool> &wanted,
                   const StopFlag *stop) {
  std::vector<RuntimeValue> inputs = valuesFromPython(values);
  std::vector<RuntimeValue> outputs =
      unlocked([&] { return model.runValues(inputs, wanted); }, stop);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i])
      outputs.at(i) = {};
  return valuesToPython(std::move(outputs));
}

nb::list referenceValues(Model &model, const nb::list &values, bool keepDouble) {
  std::vector<RuntimeValue> inputs = valuesFromPython(values);
  return valuesToPython(unlocked([&] { return model.referenceValues(inputs, keepDouble); }));
}

// The outputs, and for each step its name, operators, routine, microseconds, bytes, operations and
// how often it ran.
nb::tuple runProfiled(Model &model, const nb::list &values, const StopFlag *stop) {
  std::vector<RuntimeValue> inputs = valuesFromPython(values);
  std::vector<ProfiledStep> steps;
  std::vector<RuntimeValue> outputs =
      unlocked([&] { return model.runProfiled(inputs, steps); }, stop);
  nb::list list;
  for (const ProfiledStep &step : steps)
    list.append(nb::make_tuple(step.name, step.operators, step.routine, step.microseconds,
                               step.bytes, step.operations, step.runs));
  return nb::make_tuple(valuesToPython(std::move(outputs)), list);
}

// One value per declared input, None if the user gave none: its tensor stays empty, and the
// model says which input is missing.
std::vector<Tensor> inputsFromPython(const Model &model, const nb::list &values,
                                     const nb::callable &convert) {
  std::vector<Tensor> inputs;
  inputs.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    nb::object value = values[i];
    inputs.push_back(value.is_none() ? Tensor()
                                     : tensorFromPython(value, model.inputs().at(i), i, convert));
  }
  return inputs;
}

nb::list outputsToPython(std::vector<Tensor> outputs) {
  nb::list list;
  for (Tensor &output : outputs)
    list.append(tensorToNumpy(std::move(output)));
  return list;
}

nb::list run(Model &model, const nb::list &values, const nb::callable &convert,
             const StopFlag *stop) {
  std::vector<Tensor> inputs = inputsFromPython(model, values, convert);
  return outputsToPython(unlocked([&] { return model.run(inputs); }, stop));
}

// Outputs that are arrays, which fit, are written to and given back; for None there is a new array.
nb::list runInto(Model &model, const nb::list &values, const nb::callable &convert,
                 const nb::list &arrays, const StopFlag *stop) {
  std::vector<Tensor> inputs = inputsFromPython(model, values, convert);
  nb::object same = nb::cpp_function([](nb::object value, size_t) { return value; });
  std::vector<Tensor> outputs(model.outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (nb::object array = arrays[i]; !array.is_none())
      outputs[i] = tensorFromPython(array, model.outputs()[i], i, same);
  unlocked([&] { model.runInto(inputs, outputs); }, stop);
  nb::list results;
  for (size_t i = 0; i < outputs.size(); ++i)
    results.append(arrays[i].is_none() ? tensorToNumpy(std::move(outputs[i]))
                                       : nb::object(arrays[i]));
  return results;
}

// Inputs on the device are DLPack capsules made for `stream`; the work goes there, too.
nb::list enqueue(Model &model, const nb::list &values, const nb::callable &convert,
                 uintptr_t stream, bool wait) {
  std::vector<Tensor> inputs = inputsFromPython(model, values, convert);
  std::vector<Tensor> outputs(model.outputs().size());
  unlocked([&] {
    auto handle = reinterpret_cast<devices::Stream>(stream);
    std::shared_ptr<const Executable> executable = model.compile(inputs);
    executable->enqueue(inputs, outputs, handle);
    if (wait) {
      devices::waitFor(handle);
      executable->raiseDataErrors();
    }
  });
  nb::list list;
  for (Tensor &output : outputs)
    list.append(DeviceArray{std::move(output), stream});
  return list;
}

// The caller's memory on the device programs run on. Inputs are in C order and of the declared
// types. `allocate(output, shape)` gives an output and its address, with -1 and a number of bytes a
// temporary; results are what it gave.
nb::list enqueueAt(Model &model, const std::vector<uintptr_t> &addresses,
                   std::vector<Shape> &&shapes, uintptr_t stream, const nb::callable &allocate) {
  const std::vector<TensorSpec> &specs = model.inputs();
  if (addresses.size() != specs.size() || shapes.size() != specs.size())
    throw InternalError("model '" + model.name() + "': other inputs than it has");
  MemorySpace place{devices::chosen()};
  std::vector<Tensor> inputs;
  inputs.reserve(specs.size());
  for (size_t i = 0; i < specs.size(); ++i)
    inputs.push_back(Tensor::borrow(specs[i].dtype, std::move(shapes[i]),
                                    reinterpret_cast<const void *>(addresses[i]), nullptr, place));
  std::vector<Tensor> outputs(model.outputs().size());
  nb::list results;
  for (size_t i = 0; i < outputs.size(); ++i)
    results.append(nb::none());
  // The address, and what keeps it alive.
  auto ask = [&](int64_t output, const nb::tuple &shape) {
    nb::tuple made = nb::cast<nb::tuple>(allocate(output, shape));
    auto *address = reinterpret_cast<void *>(nb::cast<uintptr_t>(made[1]));
    if (output >= 0)
      results[static_cast<size_t>(output)] = made[0];
    std::shared_ptr<nb::object> held(new nb::object(made[0]), deleteLocked<nb::object>);
    return std::shared_ptr<void>(std::move(held), address);
  };
  unlocked([&] {
    std::shared_ptr<const Executable> executable = model.compile(inputs);
    CallAllocator allocator;
    allocator.output = [&](size_t output, const Shape &shape) {
      std::shared_ptr<void> memory;
      if (!withInterpreter(
              [&] { memory = ask(static_cast<int64_t>(output), nb::tuple(nb::cast(shape))); }))
        throw Interrupted();
      const void *address = memory.get();
      return Tensor::borrow(model.outputs()[output].dtype, shape, address, std::move(memory),
                            executable->place());
    };
    allocator.temporary = [&](size_t bytes) {
      std::shared_ptr<void> memory;
      if (!withInterpreter([&] { memory = ask(-1, nb::make_tuple(bytes)); }))
        throw Interrupted();
      return memory;
    };
    executable->enqueue(inputs, outputs, reinterpret_cast<devices::Stream>(stream), &allocator);
  });
  return results;
}

nb::list reference(Model &model, const nb::list &values, const nb::callable &convert,
                   bool keepDouble) {
  std::vector<Tensor> inputs = inputsFromPython(model, values, convert);
  return outputsToPython(unlocked([&] { return model.reference(inputs, keepDouble); }));
}

void compile(Model &model, const nb::list &values, const nb::callable &convert) {
  std::vector<Tensor> inputs = inputsFromPython(model, values, convert);
  unlocked([&] { model.compile(inputs); });
}

// The name of every step, and the microseconds it took in one call.
nb::list profile(Model &model, const nb::list &values, const nb::callable &convert) {
  std::vector<Tensor> inputs = inputsFromPython(model, values, convert);
  std::vector<double> times;
  std::shared_ptr<const Executable> executable;
  unlocked([&] {
    executable = model.compile(inputs);
    executable->run(inputs, ThreadPool::global(), &times);
  });
  nb::list list;
  for (size_t i = 0; i < times.size(); ++i)
    list.append(nb::make_tuple(executable->program().steps[i].name, times[i]));
  return list;
}

/// Samples by the names of inputs as those that a model takes.
std::vector<std::vector<RuntimeValue>>
inOrder(const Model &model, const std::vector<std::map<std::string, RuntimeValue>> &samples) {
  std::vector<std::vector<RuntimeValue>> result;
  for (const auto &sample : samples) {
    std::vector<RuntimeValue> &values = result.emplace_back();
    for (const TensorSpec &input : model.inputs()) {
      auto found = sample.find(input.name);
      if (found == sample.end())
        throw Error(ErrorKind::MissingInput,
                    "samples: expected an input '" + input.name + "' in each, got one without");
      values.push_back(found->second);
    }
  }
  return result;
}

void writePackage(const std::vector<std::filesystem::path> &models,
                  const std::filesystem::path &output, const std::string &target,
                  const std::vector<std::string> &processors, const std::string &expansion,
                  const std::vector<std::pair<std::string, int64_t>> &sizes,
                  const std::string &recipe, const std::filesystem::path &accelerator,
                  const std::vector<nb::dict> &samples, const std::vector<std::string> &given) {
  PackageSettings settings;
  std::vector<std::map<std::string, RuntimeValue>> values;
  for (const nb::dict &sample : samples)
    for (auto &named = values.emplace_back(); auto [name, value] : sample)
      named.emplace(nb::cast<std::string>(name), valueFromPython(value));
  if (!values.empty())
    settings.samplesOf = [&values](const Model &model) { return inOrder(model, values); };
  settings.target = target;
  if (!processors.empty())
    settings.processors = processors;
  settings.expansion = expansion;
  settings.sizes = sizes;
  settings.recipe = recipe;
  settings.accelerator = accelerator.string();
  settings.givenInputs = given;
  unlocked([&] { CompiledPackage::compile(models, settings).writePackage(output); });
}

std::shared_ptr<Model> withGradient(const Model &model, std::vector<std::string> wrt, bool values) {
  GradientOptions options;
  options.wrt = std::move(wrt);
  options.values = values;
  return unlocked([&] { return model.withGradient(options); });
}

// The two models; for each tensor kept, whether it is an input of the forward one, and its number
// among those or the outputs; and the operators computed again.
nb::tuple forwardAndBackward(const Model &model, std::vector<std::string> wrt,
                             std::optional<int64_t> memoryBudget) {
  GradientOptions options;
  options.wrt = std::move(wrt);
  options.memoryBudget = memoryBudget;
  ForwardBackward pair = unlocked([&] { return model.forwardAndBackward(options); });
  nb::list kept;
  for (const SavedTensor &tensor : pair.kept)
    kept.append(nb::make_tuple(tensor.place == SavedTensor::Place::Input, tensor.index));
  return nb::make_tuple(pair.forward, pair.backward, kept, pair.computedAgain);
}

nb::list phaseList(const std::string &target, bool ofGradient) {
  nb::list list;
  for (const PhaseInfo &phase : ofGradient ? gradientPhases() : phases(target))
    list.append(nb::make_tuple(phase.name, phase.summary));
  return list;
}

} // namespace

void registerModel(nb::module_ &module) {
  nb::class_<StopFlag>(module, "StopFlag")
      .def(nb::init<>())
      .def_prop_rw(
          "asked", [](const StopFlag &flag) { return flag.asked.load(); },
          [](StopFlag &flag, bool asked) { flag.asked = asked; });
  nb::class_<Model>(module, "Model")
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("inputs", &inputsToPython)
      .def_prop_ro("outputs", &outputSpecsToPython)
      .def_prop_ro("is_split", &Model::isSplit)
      .def_prop_ro(
          "weights",
          [](const Model &model) { return specsToPython(model.weights(), model.symbols()); })
      .def_prop_ro("metadata", &Model::metadata)
      .def_prop_ro("notes", &notesToPython)
      .def_prop_ro("declared", &declaredToPython)
      .def_prop_ro("symbols", &Model::symbols)
      .def_prop_ro("compiled_versions", &Model::compiledVersions)
      .def_prop_ro("on_device",
                   [](const Model &model) { return !findEngine(model.engine()).place().onHost(); })
      .def("use_threads", &Model::useThreads)
      .def("run", &run, nb::arg(), nb::arg(), nb::arg().none() = nb::none())
      .def("run_into", &runInto, nb::arg(), nb::arg(), nb::arg(), nb::arg().none() = nb::none())
      .def("run_values", &runValues, nb::arg(), nb::arg(), nb::arg().none() = nb::none())
      .def("run_profiled", &runProfiled, nb::arg(), nb::arg().none() = nb::none())
      .def("reference_values", &referenceValues)
      .def("enqueue", &enqueue)
      .def("enqueue_at", &enqueueAt)
      .def("to",
           [](const Model &model, const std::string &target) {
             return unlocked([&] { return model.to(target); });
           })
      .def("reference", &reference)
      .def("compile", &compile)
      .def("profile", &profile)
      .def("with_gradient", &withGradient)
      .def("forward_and_backward", &forwardAndBackward, nb::arg("wrt"),
           nb::arg("memory_budget").none())
      .def("ir",
           [](Model &model, const std::string &phase, const Sizes &sizes) {
             return unlocked([&] { return model.ir(phase, sizes); });
           })
      .def("explain", [](Model &model, const Sizes &sizes) {
        Explanation explanation = unlocked([&] { return model.explain(sizes); });
        return explanationToPython(explanation, model.symbols(), sizes);
      });
  (void)nb::class_<Package>(module, "Package");
  module.def("open_package", [](const std::filesystem::path &path) {
    return std::const_pointer_cast<Package>(openPackage(path));
  });
  module.def("load", &load, nb::arg(), nb::arg().none(), nb::arg());
  module.def("load_bytes", &loadBytes);
  module.def("write_package", &writePackage);
  module.def("cuda_device", &devices::chosen);
  module.def("phases", &phaseList);
  module.def("threads", [] { return ThreadPool::global().threads(); });
  module.def("set_threads", &setProcessThreads);
  module.def("log_compilations", [](bool isOn) {
    isOn ? adaptive::logCompilations() : adaptive::logCompilations(nullptr);
  });
}

} // namespace headrace::python
