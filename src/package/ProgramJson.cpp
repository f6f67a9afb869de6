#include "package/ProgramJson.h"

#include "runtime/system/Error.h"

#include <array>
#include <climits>

namespace headrace {

namespace {

// More than any program has; a bound on what a manifest can make us allocate.
constexpr int64_t maxParts = 1 << 24;

// --- sizes: 3, or "2*s0 + 3" where s0 is the first symbol ---

Json toJson(const DimExpr &expr) {
  if (std::optional<int64_t> value = expr.asConstant())
    return *value;
  return expr.str({});
}

Json toJson(const std::vector<DimExpr> &exprs) {
  Json json = Json::array();
  for (const DimExpr &expr : exprs)
    json.push_back(toJson(expr));
  return json;
}

DimExpr exprFromJson(const Json &json, size_t symbols) {
  if (json.is_number())
    return DimExpr::constant(integerOf(json));
  try {
    return DimExpr::parse(text(json), symbols);
  } catch (const Error &error) {
    throw JsonFault(error.what());
  }
}

std::vector<DimExpr> exprsFromJson(const Json &json, size_t symbols) {
  std::vector<DimExpr> exprs;
  for (const Json &item : json)
    exprs.push_back(exprFromJson(item, symbols));
  return exprs;
}

// --- names of enumerators ---

constexpr std::array<const char *, 4> bufferKinds = {"input", "output", "constant", "temporary"};
constexpr std::array<const char *, 3> stepKinds = {"kernel", "library", "transfer"};

template <class Enum, size_t N>
Enum parseKind(const std::string &name, const std::array<const char *, N> &names) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i])
      return static_cast<Enum>(i);
  throw JsonFault("unknown kind '" + name + "'");
}

DType typeFromJson(const Json &json) {
  std::string name = text(json, "type");
  std::optional<DType> type = parseDType(name);
  if (!type)
    throw JsonFault("unknown type '" + name + "'");
  return *type;
}

// --- parts of a program ---

Json toJson(const TensorSpec &spec) {
  return {{"name", spec.name}, {"type", nameOf(spec.dtype)}, {"dims", toJson(spec.dims)}};
}

Json toJson(const std::vector<TensorSpec> &specs) {
  Json json = Json::array();
  for (const TensorSpec &spec : specs)
    json.push_back(toJson(spec));
  return json;
}

std::vector<TensorSpec> specsFromJson(const Json &json, size_t symbols) {
  std::vector<TensorSpec> specs;
  for (const Json &item : json)
    specs.push_back(
        {text(item, "name"), typeFromJson(item), exprsFromJson(list(item, "dims"), symbols)});
  return specs;
}

Json toJson(const Symbol &symbol) {
  Json json = {{"name", symbol.name}, {"min", symbol.min}};
  if (symbol.max != INT64_MAX)
    json["max"] = symbol.max;
  return json;
}

Json toJson(const BufferInfo &buffer) {
  Json json = {{"kind", bufferKinds[static_cast<size_t>(buffer.kind)]},
               {"type", nameOf(buffer.dtype)},
               {"bytes", toJson(buffer.bytes)}};
  if (buffer.kind == BufferInfo::Kind::Temporary) {
    json["first"] = buffer.firstStep;
    json["last"] = buffer.lastStep;
  } else {
    json["index"] = buffer.index;
  }
  if (buffer.engine != hostEngine)
    json["engine"] = buffer.engine;
  return json;
}

BufferInfo bufferFromJson(const Json &json, size_t symbols, const std::string &engine) {
  BufferInfo buffer;
  buffer.engine = json.contains("engine") ? text(json, "engine") : engine;
  buffer.kind = parseKind<BufferInfo::Kind>(text(json, "kind"), bufferKinds);
  buffer.dtype = typeFromJson(json);
  buffer.bytes = exprFromJson(member(json, "bytes"), symbols);
  if (buffer.kind == BufferInfo::Kind::Temporary) {
    buffer.firstStep = static_cast<int>(integer(json, "first", 0, maxParts));
    buffer.lastStep = static_cast<int>(integer(json, "last", 0, maxParts));
  } else {
    buffer.index = static_cast<int>(integer(json, "index", 0, maxParts));
  }
  return buffer;
}

// --- launches on a device ---

constexpr std::array<const char *, 4> parameterKinds = {"buffer", "size", "workspace",
                                                        "tensor_map"};

Json toJson(const LaunchParameter &parameter) {
  Json json = {{"kind", parameterKinds[static_cast<size_t>(parameter.kind)]}};
  if (parameter.kind == LaunchParameter::Kind::Buffer ||
      (parameter.kind == LaunchParameter::Kind::TensorMap && parameter.index >= 0))
    json["operand"] = parameter.index;
  else
    json["size"] = toJson(parameter.size);
  if (parameter.kind == LaunchParameter::Kind::TensorMap) {
    json["type"] = nameOf(parameter.tile.dtype);
    json["dims"] = toJson(parameter.tile.dims);
    json["box"] = parameter.tile.box;
    json["swizzle"] = parameter.tile.swizzleBytes;
  }
  return json;
}

LaunchParameter parameterFromJson(const Json &json, size_t symbols) {
  LaunchParameter parameter;
  parameter.kind = parseKind<LaunchParameter::Kind>(text(json, "kind"), parameterKinds);
  bool inWorkspace =
      parameter.kind == LaunchParameter::Kind::TensorMap && !json.contains("operand");
  if (inWorkspace)
    parameter.index = -1;
  if (parameter.kind == LaunchParameter::Kind::Buffer ||
      (parameter.kind == LaunchParameter::Kind::TensorMap && !inWorkspace))
    parameter.index = static_cast<int>(integer(json, "operand", 0, maxParts));
  else
    parameter.size = exprFromJson(member(json, "size"), symbols);
  if (parameter.kind == LaunchParameter::Kind::TensorMap) {
    parameter.tile.dtype = typeFromJson(json);
    parameter.tile.dims = exprsFromJson(list(json, "dims"), symbols);
    for (const Json &size : list(json, "box"))
      parameter.tile.box.push_back(integerOf(size, 1, INT_MAX));
    parameter.tile.swizzleBytes = integer(json, "swizzle", 0, 128);
  }
  return parameter;
}

Json toJson(const Launch &launch) {
  Json parameters = Json::array();
  for (const LaunchParameter &parameter : launch.parameters)
    parameters.push_back(toJson(parameter));
  return {{"function", launch.function},
          {"grid", toJson(std::vector<DimExpr>(launch.grid.begin(), launch.grid.end()))},
          {"block", launch.block},
          {"shared", launch.sharedBytes},
          {"parameters", parameters}};
}

Launch launchFromJson(const Json &json, size_t symbols) {
  Launch launch;
  launch.function = text(json, "function");
  std::vector<DimExpr> grid = exprsFromJson(list(json, "grid"), symbols);
  const Json &block = list(json, "block");
  if (grid.size() != 3 || block.size() != 3)
    throw JsonFault("expected grids and blocks of three sizes");
  for (size_t i = 0; i < 3; ++i) {
    launch.grid[i] = grid[i];
    launch.block[i] = static_cast<int>(integerOf(block[i], 1, INT_MAX));
  }
  launch.sharedBytes = integer(json, "shared", 0, INT_MAX);
  for (const Json &parameter : list(json, "parameters"))
    launch.parameters.push_back(parameterFromJson(parameter, symbols));
  return launch;
}

// --- steps ---

Json toJson(const Step &step) {
  Json json = {{"kind", stepKinds[static_cast<size_t>(step.kind)]},
               {"name", step.name},
               {"symbol", step.symbol},
               {"operands", step.operands},
               {"operators", step.operators},
               {"bytes_read", toJson(step.cost.bytesRead)},
               {"bytes_written", toJson(step.cost.bytesWritten)},
               {"operations", toJson(step.cost.operations)}};
  if (step.engine != hostEngine)
    json["engine"] = step.engine;
  if (!step.parameters.empty())
    json["parameters"] = toJson(step.parameters);
  if (step.workspaceBytes != 0)
    json["workspace"] = step.workspaceBytes;
  if (!step.launches.empty()) {
    Json &launches = json["launches"] = Json::array();
    for (const Launch &launch : step.launches)
      launches.push_back(toJson(launch));
    json["device_workspace"] = toJson(step.deviceWorkspaceBytes);
  }
  return json;
}

Step stepFromJson(const Json &json, size_t symbols, const std::string &engine) {
  Step step;
  step.engine = json.contains("engine") ? text(json, "engine") : engine;
  step.kind = parseKind<Step::Kind>(text(json, "kind"), stepKinds);
  step.name = text(json, "name");
  step.symbol = text(json, "symbol");
  for (const Json &operand : list(json, "operands"))
    step.operands.push_back(static_cast<int>(integerOf(operand, 0, maxParts)));
  for (const Json &name : list(json, "operators"))
    step.operators.push_back(text(name));
  step.cost.bytesRead = exprFromJson(member(json, "bytes_read"), symbols);
  step.cost.bytesWritten = exprFromJson(member(json, "bytes_written"), symbols);
  step.cost.operations = exprFromJson(member(json, "operations"), symbols);
  if (json.contains("parameters"))
    step.parameters = exprsFromJson(list(json, "parameters"), symbols);
  if (json.contains("workspace"))
    step.workspaceBytes = integer(json, "workspace", 0, INT_MAX);
  if (json.contains("launches")) {
    for (const Json &launch : list(json, "launches"))
      step.launches.push_back(launchFromJson(launch, symbols));
    step.deviceWorkspaceBytes = exprFromJson(member(json, "device_workspace"), symbols);
  }
  return step;
}

} // namespace

Json interfaceToJson(const Program &program) {
  Json symbols = Json::array();
  for (const Symbol &symbol : program.symbols)
    symbols.push_back(toJson(symbol));
  return {{"name", program.name},
          {"symbols", symbols},
          {"inputs", toJson(program.inputs)},
          {"outputs", toJson(program.outputs)}};
}

Program interfaceFromJson(const Json &json) {
  Program program;
  program.name = text(json, "name");
  for (const Json &item : list(json, "symbols")) {
    Symbol symbol{text(item, "name"), integer(item, "min", 0)};
    if (item.contains("max"))
      symbol.max = integer(item, "max", 0);
    program.symbols.push_back(symbol);
  }
  size_t symbols = program.symbols.size();
  program.inputs = specsFromJson(list(json, "inputs"), symbols);
  program.outputs = specsFromJson(list(json, "outputs"), symbols);
  return program;
}

Json programToJson(const Program &program, const std::function<size_t(const Tensor &)> &keep) {
  Json json = interfaceToJson(program);
  Json &constants = json["constants"] = Json::array();
  for (const Tensor &constant : program.constants)
    constants.push_back({{"type", nameOf(constant.dtype())},
                         {"shape", constant.shape()},
                         {"weights", keep(constant)}});
  Json &buffers = json["buffers"] = Json::array();
  for (const BufferInfo &buffer : program.buffers)
    buffers.push_back(toJson(buffer));
  Json &steps = json["steps"] = Json::array();
  for (const Step &step : program.steps)
    steps.push_back(toJson(step));
  return json;
}

Program programFromJson(const Json &json,
                        const std::function<Tensor(size_t, DType, const Shape &)> &find,
                        const std::string &engine) {
  Program program = interfaceFromJson(json);
  size_t symbols = program.symbols.size();
  for (const Json &item : list(json, "constants")) {
    Shape shape;
    for (const Json &size : list(item, "shape"))
      shape.push_back(integerOf(size, 0));
    auto index = static_cast<size_t>(integer(item, "weights", 0, maxParts));
    program.constants.push_back(find(index, typeFromJson(item), shape));
  }
  for (const Json &item : list(json, "buffers"))
    program.buffers.push_back(bufferFromJson(item, symbols, engine));
  for (const Json &item : list(json, "steps"))
    program.steps.push_back(stepFromJson(item, symbols, engine));
  if (std::string fault = programFault(program); !fault.empty())
    throw JsonFault("program '" + program.name + "': " + fault);
  return program;
}

Json notesToJson(const ProgramNotes &notes) {
  Json steps = Json::array();
  for (const ProgramNotes::StepNote &note : notes.steps) {
    Json &step = steps.emplace_back(Json{note.kind, note.schedule, note.recipe, note.notes});
    if (!note.unsupportedReason.empty() || !note.source.empty())
      step.push_back(note.unsupportedReason);
    if (!note.source.empty())
      step.push_back(note.source);
  }
  return {{"operators", notes.before.kernels},
          {"bytes_moved", toJson(notes.before.bytesMoved)},
          {"operations", toJson(notes.before.operations)},
          {"intermediate_bytes", toJson(notes.before.intermediateBytes)},
          {"steps", steps}};
}

ProgramNotes notesFromJson(const Json &json, const Program &program) {
  ProgramNotes notes;
  size_t symbols = program.symbols.size();
  notes.before = {integer(json, "operators", 0), exprFromJson(member(json, "bytes_moved"), symbols),
                  exprFromJson(member(json, "operations"), symbols),
                  exprFromJson(member(json, "intermediate_bytes"), symbols)};
  for (const Json &item : list(json, "steps")) {
    if (!item.is_array() || item.size() < 4 || item.size() > 6)
      throw JsonFault("expected kind, loops, recipe and remarks of a step");
    ProgramNotes::StepNote &note = notes.steps.emplace_back();
    note = {text(item[0]),
            text(item[1]),
            text(item[2]),
            text(item[3]),
            item.size() > 4 ? text(item[4]) : "",
            {},
            item.size() > 5 ? text(item[5]) : ""};
  }
  if (notes.steps.size() != program.steps.size())
    throw JsonFault("program '" + program.name + "' has remarks on other steps");
  return notes;
}

} // namespace headrace
