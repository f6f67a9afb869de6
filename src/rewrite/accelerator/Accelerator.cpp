#include "rewrite/accelerator/Accelerator.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/system/Listing.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace headrace::rewrite {

namespace {

constexpr int64_t largestSize = 1 << 16;

double costIn(const Json &object, const char *key) {
  const Json &value = member(object, key);
  double cost = value.is_number() ? value.get<double>() : -1;
  if (!(cost >= 0) || !std::isfinite(cost))
    throw JsonFault(std::string(key) + ": expected a cost of at least 0, got " +
                    value.dump().substr(0, 40));
  return cost;
}

NumberFormat formatIn(const Json &object, const char *key, bool saturates) {
  std::string name = text(object, key);
  auto kind = numberFormatNamed(name);
  if (!kind)
    throw JsonFault(std::string(key) + ": expected float32, float16, float8_e4m3fn or int32, got " +
                    inQuotes(name));
  return {*kind, saturates};
}

void refuseOtherKeys(const Json &object, std::initializer_list<std::string_view> known) {
  for (const auto &[key, value] : object.items())
    if (std::ranges::find(known, key) == known.end())
      throw JsonFault("there is no key " + inQuotes(key));
}

MachineOperator operatorFrom(const Json &json) {
  MachineOperator op;
  op.name = text(json, "name");
  refuseOtherKeys(json, {"name", "sizes", "cost"});
  if (!resultRank(op.name)) {
    std::vector<std::string_view> names;
    for (const TensorOperator &known : hardwareOperators())
      if (resultRank(known.name))
        names.push_back(known.name);
    throw JsonFault("name: expected " + listed(names) + ", whose meanings are known, got " +
                    inQuotes(op.name));
  }
  for (const Json &size : list(json, "sizes"))
    op.sizes.push_back(integerOf(size, 1, largestSize));
  size_t expected = allOperators().find(op.name)->signature.attributes.size();
  if (op.sizes.size() != expected)
    throw JsonFault("sizes: expected " + std::to_string(expected) + ", got " +
                    std::to_string(op.sizes.size()));
  op.cost = costIn(json, "cost");
  return op;
}

Accelerator fromJson(const Json &json) {
  if (!json.is_object())
    throw JsonFault("expected an object, got " + std::string(json.type_name()));
  refuseOtherKeys(json, {"name", "element", "saturates", "accumulate", "chip_bytes",
                         "cost_per_byte", "operators"});
  Accelerator machine;
  machine.name = text(json, "name");
  const Json &saturates = member(json, "saturates");
  if (!saturates.is_boolean())
    throw JsonFault("saturates: expected true or false");
  machine.element = formatIn(json, "element", saturates.get<bool>());
  machine.accumulate = formatIn(json, "accumulate", saturates.get<bool>());
  machine.chipBytes = integer(json, "chip_bytes", 1);
  const Json &costs = member(json, "cost_per_byte");
  machine.loadCost = costIn(costs, "load");
  machine.storeCost = costIn(costs, "store");
  machine.outputCost = costIn(costs, "output");
  refuseOtherKeys(costs, {"load", "store", "output"});
  for (const Json &op : list(json, "operators")) {
    try {
      machine.operators.push_back(operatorFrom(op));
    } catch (const JsonFault &fault) {
      throw JsonFault("operator " + std::to_string(machine.operators.size() + 1) + ": " +
                      fault.what());
    }
    const MachineOperator &added = machine.operators.back();
    if (machine.find(added.name, added.sizes) != &added)
      throw JsonFault("operator " + std::to_string(machine.operators.size()) + ": " + added.name +
                      " of these sizes exists already");
  }
  return machine;
}

} // namespace

Accelerator Accelerator::parse(std::string_view json, const std::string &source) {
  try {
    return fromJson(parseJson(json, "the file"));
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, source + ": " + fault.what());
  }
}

Accelerator Accelerator::read(const std::filesystem::path &path) {
  auto file = MappedFile::open(path);
  return parse({reinterpret_cast<const char *>(file->data()), file->size()}, path.string());
}

const MachineOperator *Accelerator::find(std::string_view name,
                                         std::span<const int64_t> sizes) const {
  for (const MachineOperator &op : operators)
    if (op.name == name && std::ranges::equal(op.sizes, sizes))
      return &op;
  return nullptr;
}

bool Accelerator::computes(std::string_view function) const {
  return std::ranges::any_of(
      operators, [&](const MachineOperator &op) { return functionOf(op.name) == function; });
}

std::vector<RuleInstance> Accelerator::instancesOf(const RuleSet &rules,
                                                   const Vocabulary &vocabulary) const {
  std::vector<RuleInstance> instances;
  for (const Rule &rule : rules) {
    if (!rule.family) {
      instances.push_back({&rule, {}});
      continue;
    }
    std::string_view family = vocabulary.text(*rule.family);
    std::set<std::vector<int64_t>> sizes;
    for (const MachineOperator &op : operators)
      if (op.name == family || (family == "Vector" && op.name.starts_with("VV")))
        sizes.insert(op.sizes);
    for (const std::vector<int64_t> &size : sizes) {
      std::vector<Attribute> parameters;
      for (int64_t number : size)
        parameters.push_back(Attribute::number(number));
      instances.push_back({&rule, std::move(parameters)});
    }
  }
  return instances;
}

} // namespace headrace::rewrite
