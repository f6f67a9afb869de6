#include "script/graph/Dag.h"

#include "script/language/Printer.h"
#include <cstdio>

namespace headrace::script {

std::optional<double> literalNumber(const Node &node) {
  if (node.op != Op::Literal)
    return std::nullopt;
  return std::visit(
      [](const auto &value) -> std::optional<double> {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
          return std::nullopt;
        else
          return static_cast<double>(value);
      },
      node.literal);
}

static std::string aggregateName(const Node &node) {
  static constexpr const char *plain[] = {"sum", "mean", "min", "max", "prod"};
  static constexpr const char *each[] = {"Sums", "Means", "Mins", "Maxs", "Prods"};
  auto kind = static_cast<size_t>(node.aggregate);
  if (node.extent == Extent::All)
    return plain[kind];
  return std::string(node.extent == Extent::EachRow ? "row" : "col") + each[kind];
}

std::string operationName(const Node &node) {
  switch (node.op) {
  case Op::Input:
    return node.name;
  case Op::Literal:
    return print(node.literal);
  case Op::SizeValue:
    return "size";
  case Op::Cell:
    return std::string(describe(node.cell).name);
  case Op::MatMul:
    return std::string(node.transposeLeft ? "t " : "") + "%*%" + (node.transposeRight ? " t" : "");
  case Op::Transpose:
    return "t";
  case Op::Aggregate:
    return aggregateName(node);
  case Op::Fill:
    return "matrix";
  case Op::Bind:
    return node.name;
  case Op::ToScalar:
    return "as.scalar";
  case Op::Values:
    return "values";
  case Op::WithValues:
    return "withValues";
  case Op::SampledProduct:
    return "sampled %*%";
  case Op::Sample:
    return "sample";
  case Op::ZerosKept:
    return "zerosKept";
  case Op::Function:
    return node.name;
  }
  return {};
}

static std::string knownText(const Known &known) {
  if (!known.type.isMatrix())
    return known.value.known() ? "scalar " + known.value.text() : toText(known.type);
  std::string text = known.rows.text() + " x " + known.cols.text();
  if (known.density) {
    char number[32];
    std::snprintf(number, sizeof number, ", density %.3g", *known.density);
    text += number;
  }
  return text + (known.sparse ? ", sparse" : "");
}

std::string print(const Dag &dag, const std::string &indent) {
  std::string text;
  for (size_t i = 0; i < dag.nodes.size(); ++i) {
    const Node &node = dag.nodes[i];
    if (node.op == Op::Literal)
      continue;
    text += indent + "(" + std::to_string(i) + ") " + operationName(node);
    std::string operands;
    for (int input : node.inputs) {
      operands += operands.empty() ? "" : ", ";
      if (input < 0)
        operands += "-";
      else if (dag.nodes[input].op == Op::Literal)
        operands += print(dag.nodes[input].literal);
      else
        operands += "(" + std::to_string(input) + ")";
    }
    if (!node.inputs.empty())
      text += " [" + operands + "]";
    text += "  " + knownText(node.known);
    for (const auto &[name, value] : dag.assigned)
      if (value == static_cast<int>(i) && node.op != Op::Input)
        text += "  -> " + name;
    text += "\n";
  }
  return text;
}

} // namespace headrace::script
