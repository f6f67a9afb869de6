#include "rewrite/engine/Code.h"

#include "runtime/system/Json.h"

#include <cmath>
#include <limits>

namespace headrace::rewrite {

namespace {

constexpr size_t mostSymbols = 64;
constexpr const char *what = "code of coarse operators";
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Operators in order, operands by their numbers: a shared term stands there once.
Json nodesOf(const Terms &terms, TermId root) {
  const Vocabulary &vocabulary = terms.vocabulary();
  std::unordered_map<TermId, size_t> numbers;
  Json nodes = Json::array();
  for (TermId id : terms.reachableFrom(root)) {
    Json attributes = Json::array(), operands = Json::array();
    const Operator &op = terms.opOf(id);
    for (Attribute attribute : op.attributes)
      if (attribute.isNumber())
        attributes.push_back(attribute.value);
      else
        attributes.push_back(vocabulary.text(static_cast<Name>(attribute.value)));
    for (TermId operand : terms[id].operands)
      operands.push_back(numbers.at(operand));
    numbers.emplace(id, nodes.size());
    nodes.push_back({vocabulary.text(op.name), attributes, operands});
  }
  return nodes;
}

TermId termFrom(const Json &nodes, Terms &terms) {
  Vocabulary &vocabulary = terms.vocabulary();
  std::vector<TermId> ids;
  for (const Json &node : nodes) {
    if (!node.is_array() || node.size() != 3 || !node[1].is_array() || !node[2].is_array())
      throw JsonFault("expected an operator, its attributes and operands");
    std::vector<Attribute> attributes;
    for (const Json &attribute : node[1])
      attributes.push_back(attribute.is_string() ? Attribute::name(vocabulary.name(text(attribute)))
                                                 : Attribute::number(integerOf(attribute)));
    std::vector<TermId> operands;
    for (const Json &operand : node[2])
      operands.push_back(
          ids[static_cast<size_t>(integerOf(operand, 0, static_cast<int64_t>(ids.size()) - 1))]);
    ids.push_back(
        terms.add(vocabulary.op(text(node[0]), std::move(attributes)), std::move(operands)));
  }
  if (ids.empty())
    throw JsonFault("expected a term");
  return ids.back();
}

/// JSON has no infinity: as text.
Json numberJson(double number) {
  return std::isfinite(number) ? Json(number) : Json(std::to_string(number));
}

double numberFrom(const Json &json) {
  if (json.is_number())
    return json.get<double>();
  if (json == "inf" || json == "-inf")
    return json == "inf" ? infinity : -infinity;
  if (json == "nan" || json == "-nan")
    return std::numeric_limits<double>::quiet_NaN();
  throw JsonFault("expected a number as 'number'");
}

} // namespace

std::string toText(const CoarseCode &code, const Terms &terms) {
  Json inputs = Json::array();
  for (const CoarseInput &input : code.inputs) {
    Json &json = inputs.emplace_back(Json{{"name", input.name}, {"shape", input.shape}});
    if (input.number)
      json["number"] = numberJson(*input.number);
    else
      json["leads"] = input.leads;
  }
  return Json{{"machine", Json::parse(code.machine)},
              {"batch", code.batch.str({})},
              {"inputs", std::move(inputs)},
              {"term", nodesOf(terms, code.term)}}
      .dump();
}

CoarseCode fromText(std::string_view given, Terms &terms) {
  Json json = parseJson(given, what);
  CoarseCode code;
  code.machine = member(json, "machine").dump();
  code.batch = DimExpr::parse(text(json, "batch"), mostSymbols);
  for (const Json &item : list(json, "inputs")) {
    CoarseInput &input = code.inputs.emplace_back();
    input.name = text(item, "name");
    for (const Json &size : list(item, "shape"))
      input.shape.push_back(integerOf(size, 0, mostElements));
    if (auto number = item.find("number"); number != item.end())
      input.number = numberFrom(*number);
    else
      input.leads = member(item, "leads") == true;
  }
  code.term = termFrom(list(json, "term"), terms);
  return code;
}

} // namespace headrace::rewrite
