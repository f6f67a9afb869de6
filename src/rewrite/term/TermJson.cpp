#include "rewrite/term/TermJson.h"

namespace headrace::rewrite {

Json termToJson(const Terms &terms, TermId root) {
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

TermId termFromJson(const Json &nodes, Terms &terms) {
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

} // namespace headrace::rewrite
