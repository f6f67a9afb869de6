// Arithmetic on sizes, as conditions and new attributes of rules have it: `?k % 64 == 0`.
#pragma once

#include "rewrite/rule/Source.h"
#include "rewrite/term/Vocabulary.h"

#include <optional>

namespace headrace::rewrite {

/// A substitution for the variables of a rule: subjects are terms or classes, values are
/// attributes.
struct Bindings {
  std::vector<uint32_t> subjects;
  std::vector<Attribute> values;
};

struct Expression {
  enum class Kind { Literal, Value, Subject, Call, Negative, Not, Binary };
  enum class Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or
  };

  Kind kind = Kind::Literal;
  Attribute literal;
  uint32_t slot = 0; ///< of a value or subject
  Name function = 0;
  Binary binary = Binary::Add;
  std::vector<Expression> operands;
  SourceLocation place;
};

/// Functions of subjects that expressions may call, as `size(?x, 1)`.
class Facts {
public:
  static constexpr size_t maxArguments = 4;
  struct Argument {
    std::optional<uint32_t> subject;
    Attribute value; ///< if it is not a subject
  };

  virtual ~Facts() = default;
  /// Nothing if the subject has no such fact: the rule then does not apply.
  virtual std::optional<int64_t> call(Name function, std::span<const Argument> arguments) const = 0;
};

/// Facts of which there are none.
class NoFacts : public Facts {
public:
  std::optional<int64_t> call(Name, std::span<const Argument>) const override { return {}; }
};

/// Nothing if a function has no value, a number leaves 64 bits, or a divisor is not positive.
std::optional<Attribute> evaluate(const Expression &expression, const Bindings &bindings,
                                  const Facts &facts);

} // namespace headrace::rewrite
