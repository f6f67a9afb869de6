// The verbs of a program's recipe: what each does, where it applies, and which others it excludes.
// One table for the reader of recipes, the passes that follow them, and tools that offer them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace headrace {

struct Verb {
  /// What a step has behind its subject.
  enum class Object { None, Operator, Name, Number, Word };

  llvm::StringLiteral name;
  llvm::StringLiteral link; // the word between subject and object; empty if there is none
  Object object;
  llvm::StringLiteral does;          // "computes both in one kernel"
  llvm::StringLiteral applies;       // to what: "an operator and another that reads its result"
  llvm::StringLiteral excludes = ""; // the verb that says the opposite
  /// Each operator has one such choice; steps of other verbs may name several operators.
  bool isOneChoice = false;
  llvm::StringLiteral subject = "";           // the only one that a step can have
  llvm::ArrayRef<llvm::StringRef> words = {}; // its objects, if they are words
  /// Why no step with this verb can be about the operator, by the operator alone; empty if one
  /// might. Whether a pass follows it depends on the program around the operator, too.
  std::string (*whyNot)(mlir::Operation *op) = nullptr;

  operator llvm::StringRef() const { return name; }
  bool isAboutOperators() const { return subject.empty(); }
};

namespace verbs {
extern const Verb fold, leave, layout, expand, fuse, separate, walk, merge, plan, pack, slice, keep,
    recompute, follow;
} // namespace verbs

/// All of them, in the order in which passes follow them.
llvm::ArrayRef<const Verb *> allVerbs();
/// Null if there is no verb of this name.
const Verb *findVerb(llvm::StringRef name);

} // namespace headrace
