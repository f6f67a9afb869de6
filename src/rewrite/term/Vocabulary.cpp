#include "rewrite/term/Vocabulary.h"

namespace headrace::rewrite {

Name Vocabulary::name(std::string_view text) {
  if (auto found = nameIds.find(text); found != nameIds.end())
    return found->second;
  auto id = static_cast<Name>(names.size());
  names.emplace_back(text);
  nameIds.emplace(names.back(), id);
  return id;
}

OperatorId Vocabulary::op(Name name, std::vector<Attribute> attributes) {
  uint64_t hash = mixed(0, name);
  for (Attribute attribute : attributes)
    hash = mixed(mixed(hash, static_cast<uint64_t>(attribute.kind)),
                 static_cast<uint64_t>(attribute.value));
  auto [from, to] = operatorIds.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (const Operator &op = operators[at->second]; op.name == name && op.attributes == attributes)
      return at->second;
  auto id = static_cast<OperatorId>(operators.size());
  operators.push_back({name, std::move(attributes)});
  operatorIds.emplace(hash, id);
  return id;
}

OperatorId Vocabulary::op(std::string_view text, std::vector<Attribute> attributes) {
  return op(name(text), std::move(attributes));
}

std::string Vocabulary::print(Attribute attribute) const {
  return attribute.isNumber() ? std::to_string(attribute.value)
                              : names[static_cast<size_t>(attribute.value)];
}

std::string Vocabulary::print(OperatorId id) const {
  const Operator &op = operators[id];
  std::string result = names[op.name];
  if (op.attributes.empty())
    return result;
  for (size_t i = 0; i < op.attributes.size(); ++i)
    result += (i == 0 ? "[" : ", ") + print(op.attributes[i]);
  return result + "]";
}

} // namespace headrace::rewrite
