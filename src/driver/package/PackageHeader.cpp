#include "driver/package/PackageHeader.h"

#include "runtime/system/AtomicWrite.h"

#include <map>
#include <set>

namespace headrace {
namespace {

const std::set<std::string> &reservedNames() {
  static const std::set<std::string> names = {
      "alignas", "alignof", "and",       "asm",       "auto",     "bool",     "break",    "case",
      "catch",   "char",    "class",     "compl",     "const",    "continue", "default",  "delete",
      "do",      "double",  "else",      "enum",      "explicit", "export",   "extern",   "false",
      "float",   "for",     "friend",    "goto",      "if",       "inline",   "inputs",   "int",
      "long",    "mutable", "namespace", "new",       "not",      "operator", "or",       "outputs",
      "package", "private", "program",   "protected", "public",   "register", "restrict", "return",
      "short",   "signed",  "sizeof",    "static",    "struct",   "switch",   "template", "this",
      "throw",   "true",    "try",       "typedef",   "typename", "union",    "unsigned", "using",
      "virtual", "void",    "volatile",  "while",     "xor"};
  return names;
}

/// Letters, digits and underscores; no digit first.
std::string identifier(const std::string &name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) ? c : '_';
  return result.empty() || llvm::isDigit(result[0]) ? "_" + result : result;
}

/// Gives every thing a name of its own.
class Names {
public:
  std::string add(const std::string &name) {
    std::string result = identifier(name);
    while (reservedNames().count(result) || !taken.insert(result).second)
      result += "_";
    return result;
  }

private:
  std::set<std::string> taken;
};

/// In a comment nothing may end it, or start another line.
std::string commented(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '*' && !result.empty() && result.back() == '/'   ? ' '
              : c == '/' && !result.empty() && result.back() == '*' ? ' '
              : static_cast<unsigned char>(c) < ' '                 ? '?'
                                                                    : c;
  return result;
}

std::string cType(DType type) {
  switch (storageOf(type)) {
  case DType::Bool:
  case DType::U8:
    return "uint8_t";
  case DType::I8:
    return "int8_t";
  case DType::I16:
    return "int16_t";
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return "uint16_t";
  case DType::I32:
    return "int32_t";
  case DType::U32:
    return "uint32_t";
  case DType::I64:
    return "int64_t";
  case DType::U64:
    return "uint64_t";
  case DType::F32:
    return "float";
  case DType::F64:
    return "double";
  default:
    return "void";
  }
}

std::string typeConstant(DType type) { return "HEADRACE_" + llvm::StringRef(nameOf(type)).upper(); }

/// One program: a function that takes its sizes, inputs and outputs.
class ProgramSection {
public:
  ProgramSection(const PackagedProgram &program, std::string prefix)
      : program(program), interface(program.interface), prefix(std::move(prefix)) {
    for (const Symbol &symbol : interface.symbols)
      symbolTexts.push_back(symbol.name);
  }

  std::string text() {
    addSizes();
    for (const TensorSpec &spec : interface.inputs)
      addInput(spec);
    for (const TensorSpec &spec : interface.outputs)
      addOutput(spec);
    std::string outputs = interface.outputs.empty() ? "NULL" : "outputs";
    std::string inputs = interface.inputs.empty() ? "NULL" : "inputs";
    return comment() + "static inline headrace_status " + prefix +
           "_run(const headrace_program *program" + parameters + ") {\n" + shapes +
           list("inputs", inputViews) + list("outputs", outputViews) +
           "  return headrace_run(program, " + inputs + ", " +
           std::to_string(interface.inputs.size()) + ", " + outputs + ", " +
           std::to_string(interface.outputs.size()) + ");\n}\n";
  }

private:
  void addSizes() {
    for (const Symbol &symbol : interface.symbols) {
      sizes.push_back(names.add(symbol.name));
      parameters += ", int64_t " + sizes.back();
    }
  }

  std::string shapeText(const TensorSpec &spec) const {
    std::string text;
    for (const DimExpr &dim : spec.dims)
      text += "[" + dim.str(symbolTexts) + "]";
    return std::string(nameOf(spec.dtype)) + (text.empty() ? " scalar" : " " + text);
  }

  void describe(const std::string &name, const char *direction, const TensorSpec &spec) {
    std::string original = name == spec.name ? "" : " ('" + spec.name + "')";
    lines +=
        " *   " + name + commented(original + ", " + direction + ": " + shapeText(spec)) + "\n";
  }

  void addInput(const TensorSpec &spec) {
    std::string name = names.add(spec.name);
    describe(name, "in", spec);
    std::string elements;
    for (size_t d = 0; d < spec.dims.size(); ++d) {
      elements += d ? ", " : "";
      if (std::optional<int64_t> value = spec.dims[d].asConstant()) {
        elements += std::to_string(*value);
      } else if (std::optional<unsigned> symbol = spec.dims[d].asSymbol()) {
        elements += sizes[*symbol];
      } else { // follows from the others; the runtime compares
        std::string size = names.add(spec.name + "_size" + std::to_string(d));
        parameters += ", int64_t " + size;
        elements += size;
      }
    }
    std::string shape = "NULL";
    if (!spec.dims.empty()) {
      shape = names.add(name + "_shape");
      shapes += "  const int64_t " + shape + "[] = {" + elements + "};\n";
    }
    parameters += ", const " + cType(spec.dtype) + " *" + name;
    inputViews.push_back("{(void *)" + name + ", " + shape + ", " +
                         std::to_string(spec.dims.size()) + ", " + typeConstant(spec.dtype) + "}");
  }

  void addOutput(const TensorSpec &spec) {
    std::string name = names.add(spec.name);
    describe(name, "out", spec);
    parameters += ", " + cType(spec.dtype) + " *" + name;
    outputViews.push_back("{" + name + ", NULL, 0, " + typeConstant(spec.dtype) + "}");
  }

  static std::string list(const std::string &name, const std::vector<std::string> &views) {
    if (views.empty())
      return "";
    std::string text;
    for (const std::string &view : views)
      text += (text.empty() ? "" : ",\n                                     ") + view;
    return "  const headrace_tensor " + name + "[] = {" + text + "};\n";
  }

  std::string comment() const {
    std::string text = "/* Program " + commented(interface.name) + ": computes\n" + lines;
    std::set<Sizes> served;
    for (const PackagedVersion &version : program.versions)
      served.insert(version.sizes);
    if (!interface.symbols.empty()) {
      text += " * It is compiled for\n";
      for (const Sizes &version : served) {
        std::string line;
        for (size_t i = 0; i < version.size(); ++i)
          line += (i ? ", " : "") + interface.symbols[i].name +
                  (version[i] ? " = " + std::to_string(*version[i]) : " of 2 or more");
        text += " *   " + commented(line) + "\n";
      }
    }
    return text +
           " * Arrays are in C order, outputs are the caller's memory, which has to be as\n"
           " * large as stated above. `program` comes from headrace_package_program(package,\n"
           " * \"" +
           commented(interface.name) +
           "\", &program). Any number of threads may call this at once.\n"
           " */\n";
  }

  const PackagedProgram &program;
  const Program &interface;
  std::string prefix;
  Names names;
  std::vector<std::string> symbolTexts, sizes; // symbols in the model, and in C
  std::string parameters, shapes, lines;
  std::vector<std::string> inputViews, outputViews;
};

/// One script: a function that takes its inputs with their sizes, and gives a result.
std::string scriptSection(const PackagedScript &script, const std::string &prefix) {
  Names names;
  std::string lines, parameters, shapes, views;
  for (const ScriptVariable &input : script.inputs) {
    std::string name = names.add(input.name);
    std::string shape = "NULL";
    lines += " *   " + name + ", in: f64 " + (input.isMatrix ? "[rows][columns]" : "scalar") + "\n";
    if (input.isMatrix) {
      std::string rows = names.add(name + "_rows"), columns = names.add(name + "_columns");
      shape = names.add(name + "_shape");
      parameters += ", int64_t " + rows + ", int64_t " + columns;
      shapes += "  const int64_t " + shape + "[] = {" + rows + ", " + columns + "};\n";
    }
    parameters += ", const double *" + name;
    views += (views.empty() ? "" : ", ") + ("{(void *)" + name) + ", " + shape +
             (input.isMatrix ? ", 2" : ", 0") + ", HEADRACE_F64}";
  }
  for (size_t i = 0; i < script.outputs.size(); ++i)
    lines += " *   output " + std::to_string(i) + ": " + commented(script.outputs[i].name) +
             (script.outputs[i].isMatrix ? ", a matrix of f64\n" : ", one f64\n");
  if (!views.empty())
    views = "  const headrace_tensor inputs[] = {" + views + "};\n";
  return "/* Script " + commented(script.name) + ": computes\n" + lines +
         " * Read the outputs with headrace_result_output, then call headrace_result_free.\n */\n" +
         "static inline headrace_status " + prefix + "_run(const headrace_program *program" +
         parameters + ", headrace_result **result) {\n" + shapes + views +
         "  return headrace_run_new(program, " + (views.empty() ? "NULL" : "inputs") + ", " +
         std::to_string(script.inputs.size()) + ", result);\n}\n";
}

/// "f32 [1][3][height][?]"
std::string typeText(const PackagedTensor &tensor) {
  std::string text(nameOf(tensor.dtype));
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i ? "[" : " [") +
            (tensor.dims[i] >= 0          ? std::to_string(tensor.dims[i])
             : tensor.dimNames[i].empty() ? "?"
                                          : tensor.dimNames[i]) +
            "]";
  return text;
}

/// A split model: a function that takes its inputs with their dynamic dimensions, and gives a
/// result. A dimension that several inputs have is one parameter.
std::string splitModelSection(const PackagedSplitModel &model, const std::string &prefix) {
  Names names;
  std::map<std::string, std::string> sizes; // by the name of the dimension
  std::string lines, parameters, pointers, shapes, views;
  for (const PackagedTensor &input : model.inputs) {
    std::string name = names.add(input.name), shape = "NULL", values;
    lines += " *   " + name + ", in: " + commented(typeText(input)) + "\n";
    for (size_t i = 0; i < input.dims.size(); ++i) {
      std::string value = std::to_string(input.dims[i]);
      if (input.dims[i] < 0) {
        std::string dim =
            input.dimNames[i].empty() ? input.name + "_" + std::to_string(i) : input.dimNames[i];
        auto [known, isNew] = sizes.try_emplace(dim);
        if (isNew) {
          known->second = names.add(dim);
          parameters += ", int64_t " + known->second;
        }
        value = known->second;
      }
      values += (i ? ", " : "") + value;
    }
    if (!input.dims.empty()) {
      shape = names.add(name + "_shape");
      shapes += "  const int64_t " + shape + "[] = {" + values + "};\n";
    }
    pointers += ", const " + cType(input.dtype) + " *" + name;
    views += (views.empty() ? "{(void *)" : ", {(void *)") + name + ", " + shape + ", " +
             std::to_string(input.dims.size()) + ", " + typeConstant(input.dtype) + "}";
  }
  for (size_t i = 0; i < model.outputs.size(); ++i)
    lines += " *   output " + std::to_string(i) + ": " + commented(model.outputs[i].name) + ", " +
             commented(typeText(model.outputs[i])) + "\n";
  if (!views.empty())
    views = "  const headrace_tensor inputs[] = {" + views + "};\n";
  return "/* " + commented(model.name) + ": computes\n" + lines +
         " * Read the outputs with headrace_result_output, then call headrace_result_free.\n */\n" +
         "static inline headrace_status " + prefix + "_run(const headrace_program *program" +
         parameters + pointers + ", headrace_result **result) {\n" + shapes + views +
         "  return headrace_run_new(program, " + (views.empty() ? "NULL" : "inputs") + ", " +
         std::to_string(model.inputs.size()) + ", result);\n}\n";
}

} // namespace

std::string imageSymbol(const std::string &package) { return identifier(package) + "_image"; }

std::string packageHeader(const PackageContents &contents, const std::string &package) {
  std::string name = identifier(package), image = imageSymbol(package);
  std::string guard = "HEADRACE_PACKAGE_" + llvm::StringRef(name).upper() + "_H", levels;
  for (const ProcessorNeeds &needs : contents.code)
    levels += (levels.empty() ? "" : ", ") + needs.level;
  std::string text =
      "/* Package " + commented(package) + ", written by " + contents.producer + " for " + levels +
      ".\n * Link with libheadrace_runtime. */\n#ifndef " + guard + "\n#define " + guard +
      "\n\n#include <headrace/headrace.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      "/* The whole package, in what --emit=so, static or object wrote. */\n"
      "extern const headrace_image " +
      image + ";\nstatic inline headrace_status " + name +
      "_open(headrace_package **package) {\n  return headrace_package_open_image(&" + image +
      ", package);\n}\n";
  Names prefixes;
  bool isOnly =
      contents.programs.size() + contents.scripts.size() + contents.splitModels.size() == 1;
  auto prefixOf = [&](const std::string &program) {
    return prefixes.add(isOnly ? name : name + "_" + identifier(program));
  };
  for (const PackagedProgram &program : contents.programs)
    text += "\n" + ProgramSection(program, prefixOf(program.interface.name)).text();
  for (const PackagedScript &script : contents.scripts)
    text += "\n" + scriptSection(script, prefixOf(script.name));
  for (const PackagedSplitModel &model : contents.splitModels)
    text += "\n" + splitModelSection(model, prefixOf(model.name));
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

void writeHeader(const std::filesystem::path &path, const PackageContents &contents,
                 const std::string &package) {
  std::string text = packageHeader(contents, package);
  writeFileAtomically(path, {std::as_bytes(std::span(text))});
}

} // namespace headrace
