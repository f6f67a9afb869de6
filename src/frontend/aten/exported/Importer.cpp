#include "frontend/aten/exported/Importer.h"

#include "frontend/aten/Table.h"
#include "frontend/aten/exported/Archive.h"
#include "frontend/aten/exported/Json.h"
#include "frontend/aten/exported/Scope.h"
#include "frontend/aten/exported/SizeText.h"
#include "frontend/aten/exported/Weights.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace headrace::aten {

namespace {

constexpr std::string_view operatorPrefix = "torch.ops.aten.";
/// Functions that call a graph under a setting that has no effect on inference.
const std::set<std::string> wrappers{"torch.ops.higher_order.wrap_with_set_grad_enabled"};

std::string operatorName(const Json &node) {
  auto target = node.at("target").get<std::string>();
  return target.starts_with(operatorPrefix) ? target.substr(operatorPrefix.size()) : target;
}

/// "add_.Tensor" as "add.Tensor"; nothing if the operator does not change its first argument.
std::optional<std::string> withoutChange(const std::string &name) {
  size_t dot = name.find('.');
  std::string packet = name.substr(0, dot);
  if (!packet.ends_with('_') || packet.ends_with("__"))
    return std::nullopt;
  packet.pop_back();
  return packet + (dot == std::string::npos ? "" : name.substr(dot));
}

bool isKnown(const std::string &name) {
  auto plain = withoutChange(name);
  return findOperator(name) || (plain && findOperator(*plain));
}

/// The user's line that a node comes from: " (net.py:12)"; "" if the file does not say it.
std::string lineOf(const Json &node) {
  auto metadata = node.find("metadata");
  if (metadata == node.end() || !metadata->contains("stack_trace"))
    return "";
  auto trace = metadata->at("stack_trace").get<std::string>();
  std::string found;
  for (size_t at = trace.find("File \""); at != std::string::npos;
       at = trace.find("File \"", at + 1)) {
    size_t end = trace.find("\", line ", at), after = trace.find(',', end + 3);
    if (end == std::string::npos || after == std::string::npos)
      break;
    std::string path = trace.substr(at + 6, end - at - 6);
    if (path.find("-packages/torch/") == std::string::npos && !path.starts_with("torch/"))
      found = " (" + path.substr(path.rfind('/') + 1) + ":" +
              trace.substr(end + 8, after - end - 8) + ")";
  }
  return found;
}

bool hasTensor(const Json &outputs) {
  return std::ranges::any_of(outputs, [](const Json &each) {
    std::string kind = alternative(each).kind;
    return kind.find("tensor") != std::string::npos;
  });
}

class Importer {
public:
  Importer(const std::string &name, const std::vector<std::string> &given, GraphBuilder &builder)
      : name(name), given(given.begin(), given.end()), builder(builder) {}

  std::vector<State> run(const Json &program, const Weights &weights) {
    const Json &module = program.at("graph_module");
    const Json &graph = module.at("graph"), &signature = module.at("signature");
    ranges = &program.at("range_constraints");
    checkOperators(graph);
    addInputs(graph, signature, weights);
    writeNodes(graph, scope);
    addOutputs(signature);
    addChanges();
    return states;
  }

private:
  // Inputs and outputs

  void addInputs(const Json &graph, const Json &signature, const Weights &weights) {
    for (const Json &spec : signature.at("input_specs")) {
      auto [kind, value] = alternative(spec);
      if (kind == "user_input") {
        const Json &arg = value.at("arg");
        if (!arg.contains("as_tensor"))
          continue; // a value that the program was exported for
        auto local = arg.at("as_tensor").at("name").get<std::string>();
        addInput(graph, local);
        changeable.push_back({local, {local, {}, {}}, false});
        continue;
      }
      static const std::map<std::string, std::string> titles{
          {"parameter", "parameter_name"},
          {"buffer", "buffer_name"},
          {"tensor_constant", "tensor_constant_name"}};
      auto title = titles.find(kind);
      if (title == titles.end())
        throw Unsupported("inputs of the kind '" + kind + "'");
      auto local = value.at("arg").at("name").get<std::string>();
      builder.at(local);
      auto full = value.at(title->second).get<std::string>();
      Tensor tensor = weights.find(full);
      Node node = given.erase(full)
                      ? builder.input(full, tensor.dtype(), fixedSizes(tensor.shape()))
                      : builder.constant(tensor);
      scope.set(local, node, Scope::Origin::Constant);
      changeable.push_back({local, {full, tensor.dtype(), tensor.shape()}, true});
    }
    if (!given.empty())
      throw Error(ErrorKind::InvalidArgument,
                  "input '" + *given.begin() + "': expected a parameter or buffer of the program");
  }

  static Sizes fixedSizes(const Shape &shape) { return Sizes(shape.begin(), shape.end()); }

  void addInput(const Json &graph, const std::string &input) {
    builder.at(input);
    ResultType type = typeOf(graph, input);
    scope.set(input, builder.input(input, type.type, type.sizes), Scope::Origin::Input);
  }

  void addOutputs(const Json &signature) {
    for (const Json &spec : signature.at("output_specs")) {
      auto [kind, value] = alternative(spec);
      if (kind.ends_with("_mutation")) {
        auto of = value.at(kind == "user_input_mutation" ? "user_input_name"
                           : kind == "buffer_mutation"   ? "buffer_name"
                                                         : "parameter_name");
        newValues[of.get<std::string>()] = value.at("arg").at("name").get<std::string>();
        continue;
      }
      if (kind != "user_output")
        throw Unsupported("outputs of the kind '" + kind + "'");
      auto [what, arg] = alternative(value.at("arg"));
      if (what == "as_none")
        continue;
      if (what != "as_tensor")
        throw Unsupported("outputs that are not tensors");
      auto local = arg.at("name").get<std::string>();
      addOutput(local, local);
    }
  }

  void addOutput(const std::string &wanted, const std::string &local) {
    std::string title = wanted;
    for (int i = 1; !taken.insert(title).second; ++i)
      title = wanted + "_" + std::to_string(i);
    builder.at(local);
    const auto *node = scope.get(local).as<Node>();
    if (!node)
      throw Error(ErrorKind::InvalidFile, "output '" + local + "': expected a tensor");
    builder.output(title, *node);
  }

  /// New values of what the program changes: in place, or as outputs after run_decompositions().
  void addChanges() {
    for (const auto &[local, state, isState] : changeable) {
      auto found = newValues.find(state.name);
      if (found == newValues.end() && !scope.isChanged(local))
        continue;
      addOutput("new_" + state.name, found == newValues.end() ? local : found->second);
      if (isState)
        states.push_back(state);
    }
  }

  // Types

  Size symbol(const std::string &title) {
    auto found = symbols.find(title);
    if (found != symbols.end())
      return found->second;
    if (title.starts_with("u") || title.starts_with("zuf"))
      throw Unsupported("dimensions that depend on data (" + title + ")");
    OpenSize size = builder.symbol(title, hints[title]);
    symbols.emplace(title, size);
    if (auto range = ranges->find(title); range != ranges->end())
      for (bool isLow : {true, false})
        if (const Json &bound = range->at(isLow ? "min_val" : "max_val"); bound.is_number_integer())
          builder.bound(size, bound.get<int64_t>(), isLow);
    return size;
  }

  Size sizeOf(const Json &json) {
    auto [kind, value] = alternative(json);
    if (kind == "as_int")
      return value.get<int64_t>();
    if (kind != "as_expr")
      throw Unsupported("dimensions of the kind '" + kind + "'");
    auto text = value.at("expr_str").get<std::string>();
    // The example's size is a hint for the cost model.
    if (text.starts_with("Symbol('") && value.contains("hint") && value.at("hint").is_object())
      if (auto hint = value.at("hint").find("as_int"); hint != value.at("hint").end())
        hints[text.substr(8, text.find('\'', 8) - 8)] = hint->get<int64_t>();
    return sizeFromText(builder, text, [this](const std::string &title) { return symbol(title); });
  }

  ResultType typeOf(const Json &graph, const std::string &value) {
    const Json &meta = graph.at("tensor_values").at(value);
    ResultType type{elementType(meta.at("dtype").get<int64_t>()), {}};
    for (const Json &size : meta.at("sizes"))
      type.sizes.push_back(sizeOf(size));
    return type;
  }

  // Nodes

  /// Names all operators without a counterpart at once.
  void checkOperators(const Json &graph) const {
    std::vector<std::string> missing;
    collectMissing(graph, missing);
    if (missing.empty())
      return;
    std::string text;
    for (const std::string &each : missing)
      text += (text.empty() ? "" : ", ") + each;
    throw Unsupported(text);
  }

  void collectMissing(const Json &graph, std::vector<std::string> &missing) const {
    for (const Json &node : graph.at("nodes")) {
      std::string target = operatorName(node);
      for (const Json &input : node.at("inputs"))
        if (input.at("arg").contains("as_graph"))
          collectMissing(input.at("arg").at("as_graph").at("graph"), missing);
      if (isKnown(target) || wrappers.contains(target) || !hasTensor(node.at("outputs")))
        continue;
      bool isNamed = std::ranges::any_of(missing, [&](const std::string &each) {
        return each.starts_with(target + " ") || each == target;
      });
      if (!isNamed)
        missing.push_back(target + lineOf(node));
    }
  }

  void writeNodes(const Json &graph, Scope &values) {
    std::set<std::string> read = namesRead(graph);
    for (const Json &node : graph.at("nodes")) {
      std::string line = lineOf(node);
      try {
        writeNode(graph, node, values, read);
      } catch (const Unsupported &error) {
        throw Unsupported(operatorName(node) + line + ": " + error.what());
      }
    }
  }

  static std::set<std::string> namesRead(const Json &graph) {
    std::set<std::string> read;
    std::function<void(const Json &)> visit = [&](const Json &json) {
      if (json.is_object() && json.contains("name") && json.at("name").is_string())
        read.insert(json.at("name").get<std::string>());
      if (json.is_structured())
        for (const Json &each : json)
          visit(each);
    };
    for (const Json &node : graph.at("nodes"))
      for (const Json &input : node.at("inputs"))
        visit(input.at("arg"));
    visit(graph.at("outputs"));
    return read;
  }

  void writeNode(const Json &graph, const Json &node, Scope &values,
                 const std::set<std::string> &read) {
    const Json &outputs = node.at("outputs");
    std::string target = operatorName(node);
    if (wrappers.contains(target))
      return callGraph(node, values);
    if (!hasTensor(outputs))
      return; // sizes are known by their expressions, conditions by the program's guards
    auto plain = findOperator(target) ? std::nullopt : withoutChange(target);
    std::string full = plain.value_or(target), packet = full.substr(0, full.find('.'));
    Arguments arguments;
    std::string first;
    for (const Json &input : node.at("inputs")) {
      const Json &arg = input.at("arg");
      if (first.empty() && arg.contains("as_tensor"))
        first = arg.at("as_tensor").at("name").get<std::string>();
      arguments.emplace_back(input.at("name").get<std::string>(), valueOf(graph, arg, values));
    }
    std::vector<std::string> names;
    ResultTypes types;
    for (const Json &output : outputs)
      addResults(graph, output, read, names, types);
    builder.at(names.empty() ? full : names.front());
    Call call(builder, packet, arguments, types, false);
    if (target == "batch_norm.default" && call.flag("training", false) && call.has("running_mean"))
      return writeTrainedNorm(node, call, names, values);
    Value found = (*findOperator(full))(call);
    if (plain) {
      const auto *changed = found.as<Node>();
      const auto *given = first.empty() ? nullptr : values.get(first).as<Node>();
      if (!changed || !given || names.empty())
        throw Unsupported("a change in place");
      Node same =
          builder.broadcast(builder.cast(*changed, builder.dtype(*given)), builder.shape(*given));
      values.change(builder, first, same);
      values.setSame(names.front(), first);
      return;
    }
    setResults(found, names, call, values,
               isView(packet) && !first.empty()
                   ? std::optional(View{first, full, arguments, types, 0})
                   : std::nullopt);
  }

  /// A normalization by the batch's statistics, which changes the running ones in place.
  void writeTrainedNorm(const Json &node, const Call &given, const std::vector<std::string> &names,
                        Scope &values) {
    Call call = given;
    Value found = (*findOperator("_native_batch_norm_legit_functional"))(call);
    setResults(found, names, call, values, std::nullopt);
    const List &results = *found.as<List>();
    for (const Json &input : node.at("inputs")) {
      auto name = input.at("name").get<std::string>();
      if (name == "running_mean" || name == "running_var")
        values.change(builder, input.at("arg").at("as_tensor").at("name").get<std::string>(),
                      *results.at(name == "running_mean" ? 3 : 4).as<Node>());
    }
  }

  void addResults(const Json &graph, const Json &output, const std::set<std::string> &read,
                  std::vector<std::string> &names, ResultTypes &types) {
    auto [kind, value] = alternative(output);
    if (kind == "as_tensors" || kind == "as_optional_tensors") {
      for (const Json &each : value)
        addResults(graph, kind == "as_tensors" ? Json{{"as_tensor", each}} : each, read, names,
                   types);
      return;
    }
    if (kind != "as_tensor" && kind != "as_optional_tensor") {
      names.emplace_back();
      types.emplace_back();
      return;
    }
    auto result = value.at("name").get<std::string>();
    bool isRead = read.contains(result);
    names.push_back(result);
    types.emplace_back(isRead || graph.at("tensor_values").contains(result)
                           ? std::optional(typeOf(graph, result))
                           : std::nullopt);
    if (types.back())
      types.back()->isUsed = isRead;
  }

  void setResults(const Value &found, const std::vector<std::string> &names, const Call &call,
                  Scope &values, std::optional<View> view) {
    auto set = [&](size_t i, const Value &value) {
      if (const auto *node = value.as<Node>()) {
        checkType(names.at(i), *node, call.result(i));
        if (view)
          view->number = i, values.setView(names[i], value, *view);
        else
          values.set(names[i], value);
      } else if (call.resultIsUsed(i)) {
        throw Unsupported("result " + std::to_string(i));
      }
    };
    const auto *list = found.as<List>();
    if (!list)
      return set(0, found);
    for (size_t i = 0; i < std::min(list->size(), names.size()); ++i)
      set(i, (*list)[i]);
  }

  /// What the file says of a value must be what the operator yields.
  void checkType(const std::string &value, Node node, const ResultType &type) const {
    Sizes sizes = builder.shape(node);
    bool isSame = sizes.size() == type.sizes.size() && builder.dtype(node) == type.type;
    for (size_t i = 0; isSame && i < sizes.size(); ++i)
      isSame = !known(sizes[i]) || !known(type.sizes[i]) || known(sizes[i]) == known(type.sizes[i]);
    if (!isSame)
      throw Error(ErrorKind::InvalidFile,
                  name + ": value '" + value + "' has another type or shape than the file says");
  }

  /// A graph that is called with values of this one.
  void callGraph(const Json &node, Scope &values) {
    const Json *body = nullptr;
    std::vector<Value> operands;
    for (const Json &input : node.at("inputs")) {
      const Json &arg = input.at("arg");
      if (arg.contains("as_graph"))
        body = &arg.at("as_graph").at("graph");
      else if (body)
        operands.push_back(valueOf(*body, arg, values));
    }
    if (!body || body->at("inputs").size() != operands.size())
      throw Error(ErrorKind::InvalidFile,
                  name + ": a graph is called with other inputs than it has");
    Scope inner;
    for (size_t i = 0; i < operands.size(); ++i) {
      auto [kind, value] = alternative(body->at("inputs")[i]);
      if (kind == "as_tensor")
        inner.set(value.at("name").get<std::string>(), operands[i], Scope::Origin::Elsewhere);
    }
    writeNodes(*body, inner);
    const Json &outputs = node.at("outputs"), &yields = body->at("outputs");
    std::vector<std::string> names;
    for (const Json &output : outputs) {
      auto [kind, value] = alternative(output);
      if (kind == "as_tensors")
        for (const Json &each : value)
          names.push_back(each.at("name").get<std::string>());
      else if (kind == "as_tensor")
        names.push_back(value.at("name").get<std::string>());
    }
    for (size_t i = 0; i < names.size() && i < yields.size(); ++i)
      values.set(names[i], inner.get(yields[i].at("as_tensor").at("name").get<std::string>()));
  }

  // Arguments

  Value sizeNamed(const Json &graph, const Json &json) {
    auto [kind, value] = alternative(json);
    if (kind == "as_int")
      return value.get<int64_t>();
    return sizeOf(graph.at("sym_int_values").at(value.get<std::string>()));
  }

  Value valueOf(const Json &graph, const Json &json, const Scope &values) {
    auto [kind, value] = alternative(json);
    if (kind == "as_tensor")
      return values.get(value.at("name").get<std::string>());
    if (kind == "as_tensors")
      return listOf(value, [&](const Json &each) -> Value {
        return values.get(each.at("name").get<std::string>());
      });
    if (kind == "as_optional_tensor")
      return valueOf(graph, value, values);
    if (kind == "as_optional_tensors")
      return listOf(value, [&](const Json &each) { return valueOf(graph, each, values); });
    if (kind == "as_int")
      return value.get<int64_t>();
    if (kind == "as_float")
      return number(value);
    if (kind == "as_bool")
      return value.get<bool>();
    if (kind == "as_string")
      return value.get<std::string>();
    if (kind == "as_ints")
      return listOf(value, [](const Json &each) -> Value { return each.get<int64_t>(); });
    if (kind == "as_floats")
      return listOf(value, [](const Json &each) -> Value { return number(each); });
    if (kind == "as_bools")
      return listOf(value, [](const Json &each) -> Value { return each.get<bool>(); });
    if (kind == "as_sym_int")
      return sizeNamed(graph, value);
    if (kind == "as_sym_ints")
      return listOf(value, [&](const Json &each) { return sizeNamed(graph, each); });
    if (kind == "as_sym_float" || kind == "as_sym_bool") {
      auto [what, constant] = alternative(value);
      if (what == "as_float")
        return number(constant);
      if (what == "as_bool")
        return constant.get<bool>();
      throw Unsupported("symbolic scalars");
    }
    return {}; // element types, devices and layouts show in the results
  }

  /// JSON has no infinity; the format writes it as a text.
  static Value number(const Json &json) {
    if (json.is_number())
      return json.get<double>();
    auto text = json.get<std::string>();
    double infinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity" || text == "-Infinity")
      return text[0] == '-' ? -infinity : infinity;
    return std::numeric_limits<double>::quiet_NaN();
  }

  static Value listOf(const Json &json, const std::function<Value(const Json &)> &convert) {
    List list;
    for (const Json &each : json)
      list.push_back(convert(each));
    return list;
  }

  /// What a program may change: an input, or a parameter or buffer, which has a name of its own.
  struct Changeable {
    std::string local;
    State state;
    bool isState;
  };

  const std::string &name;
  std::set<std::string> given;
  GraphBuilder &builder;
  Scope scope;
  std::vector<Changeable> changeable;
  std::vector<State> states;
  std::map<std::string, std::string> newValues; // of them, by their names
  std::set<std::string> taken;                  // names of outputs
  const Json *ranges = nullptr;
  std::map<std::string, Size> symbols;
  std::map<std::string, int64_t> hints;
};

/// The one program of the archive.
Bytes programOf(const Archive &archive) {
  if (archive.has("serialized_exported_program.json"))
    archive.fail(
        "expected raw tensors, but 'serialized_state_dict.pt' is pickled, and pickled parts "
        "of an archive are not read: save it with PyTorch 2.9 or newer");
  std::vector<std::string> found;
  for (const std::string &path : archive.pathsBelow("models"))
    if (path.ends_with(".json"))
      found.push_back(path);
  if (found.size() != 1)
    archive.fail("expected one exported program in the archive, got " +
                 std::to_string(found.size()));
  return archive.file(found.front());
}

constexpr size_t maxProgramBytes = size_t{256} << 20;
constexpr int64_t schemaVersion = 8;

} // namespace

bool isNamedLikeExported(const std::filesystem::path &path) { return path.extension() == ".pt2"; }

bool isLikeExported(std::span<const std::byte> bytes) {
  return bytes.size() > 2 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'};
}

std::vector<State> importExported(std::span<const std::byte> bytes,
                                  const std::shared_ptr<const void> &owner, const std::string &name,
                                  const std::vector<std::string> &given, GraphBuilder &builder) {
  Archive archive(bytes, name);
  Bytes text = programOf(archive);
  if (text.size() > maxProgramBytes)
    archive.fail("expected a program of at most 256 MB of JSON");
  try {
    const auto *first = reinterpret_cast<const char *>(text.data());
    Json program = Json::parse(first, first + text.size());
    int64_t version = program.at("schema_version").at("major").get<int64_t>();
    if (version != schemaVersion)
      throw Unsupported("version " + std::to_string(version) + " of the format; expected " +
                        std::to_string(schemaVersion));
    return Importer(name, given, builder).run(program, Weights(archive, owner));
  } catch (const Unsupported &error) {
    throw Error(ErrorKind::Unsupported, name + ": not supported: " + error.what());
  } catch (const Json::exception &error) {
    archive.fail(std::string("its program is not as torch.export.save writes it: ") + error.what());
  } catch (const std::out_of_range &) {
    archive.fail("its program names dimensions or values that do not exist");
  }
}

} // namespace headrace::aten
