#pragma once

#include "runtime/program/Program.h"

#include <span>

namespace headrace {

/// Checks the inputs against the program's specs and stores the values of its symbols. Throws
/// Error naming the input when one is missing or has another type or shape; symbols that no size
/// has decided until then are `unboundSize`. Returns whether the symbols are within the program's
/// guards.
bool bindInputs(const Program &program, std::span<const Tensor> inputs,
                std::vector<int64_t> &symbols);
inline constexpr int64_t unboundSize = -1;
bool isWithinGuards(const Program &program, std::span<const int64_t> symbols);

/// The symbol that an input of this size decides, as the size over `factor`: the size is the symbol
/// or a multiple of it; nullopt if it is neither.
struct DecidedSymbol {
  unsigned symbol;
  int64_t factor;
};
std::optional<DecidedSymbol> decidedBy(const DimExpr &size);

/// Says which size this program does not serve, for symbols that bindInputs rejected.
std::string describeGuardFailure(const Program &program, std::span<const int64_t> symbols);

} // namespace headrace
