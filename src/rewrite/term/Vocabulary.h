// The names and operators that terms are made of, each kept once, so that comparing two is
// comparing two numbers.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headrace::rewrite {

using Name = uint32_t;
using OperatorId = uint32_t;

/// A property of an operator besides its operands: a size, an axis, or the name of a function.
struct Attribute {
  enum class Kind : uint8_t { Number, Name };

  Kind kind = Kind::Number;
  int64_t value = 0; ///< a number, or a Name

  static Attribute number(int64_t value) { return {Kind::Number, value}; }
  static Attribute name(Name name) { return {Kind::Name, name}; }
  bool isNumber() const { return kind == Kind::Number; }
  auto operator<=>(const Attribute &) const = default;
};

/// A name with its attributes: `split[1, 64]` is one operator, `split[1, 128]` another.
struct Operator {
  Name name = 0;
  std::vector<Attribute> attributes;

  bool operator==(const Operator &) const = default;
};

class Vocabulary {
public:
  Name name(std::string_view text);
  std::string_view text(Name name) const { return names[name]; }

  OperatorId op(Name name, std::vector<Attribute> attributes = {});
  OperatorId op(std::string_view name, std::vector<Attribute> attributes = {});
  const Operator &operator[](OperatorId id) const { return operators[id]; }

  /// "64", "relu"
  std::string print(Attribute attribute) const;
  /// "split[1, 64]"
  std::string print(OperatorId id) const;

private:
  // Deques: views and references stay where they are while others are added.
  std::deque<std::string> names;
  std::unordered_map<std::string_view, Name> nameIds;
  std::deque<Operator> operators;
  std::unordered_multimap<uint64_t, OperatorId> operatorIds;
};

/// Mixes a value into a hash; the same on every machine, so that orders that follow from it are.
inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

/// The hash of an operator with operands, wherever those are numbers: terms and nodes of e-graphs.
inline uint64_t hashOf(OperatorId op, std::span<const uint32_t> operands) {
  uint64_t hash = mixed(operands.size(), op);
  for (uint32_t operand : operands)
    hash = mixed(hash, operand);
  return hash;
}

} // namespace headrace::rewrite
