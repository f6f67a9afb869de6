// Steps of one program on another one that has operators like those that the steps name.
//
// A saved recipe says of each operator in its steps what the operator is, and which others it
// comes after, directly or behind operators that pass elements on or change them one by one:
//
//   # step: walk y/map.1 along d0
//   # operator y/reduce: reduce over last axis
//   # operator y/map.1: map after y/reduce
//
// In a program without an operator of such a name, the steps are done wherever operators of these
// kinds come after each other in that way.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include "optimize/Operators.h"
#include "optimize/Step.h"
#include <map>

namespace headrace::optimize {

class Structure {
public:
  /// Of the operators that the steps name in a program. Names of others are passed over.
  Structure(llvm::ArrayRef<Step> steps, const Operators &program);
  /// As `lines` has it. Lines that are not about an operator are passed over; throws Error if one
  /// is, and makes no sense.
  explicit Structure(llvm::ArrayRef<std::string> lines);

  /// `y/map.1: map after y/reduce`, for each.
  std::vector<std::string> lines() const;
  /// Whether the program has operators of all these names.
  bool isNamedIn(const Operators &program) const;

  /// Where the structure is found in another program; every operator of the program is in one place
  /// at most.
  struct Place {
    std::map<std::string, std::string> names; // of its operators, by their names here
    /// Operators that the structure does not have, on the way between two that it has, go into the
    /// kernels that read them.
    std::vector<Step> steps;
  };
  std::vector<Place> placesIn(const Operators &program) const;

private:
  struct Named {
    std::string name, kind;
    std::vector<size_t> after; // positions of operators before it
  };
  std::vector<Named> operators; // in the order of the program
};

/// The step with other names of operators.
Step renamed(Step step, const Structure::Place &place);

} // namespace headrace::optimize
