// Whether something can be done, and the reason if it cannot.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

class [[nodiscard]] FusionDecision {
public:
  static FusionDecision yes() { return FusionDecision(); }
  /// The reason completes a sentence that begins with what was asked for: "it is ...".
  static FusionDecision no(llvm::StringLiteral reason) { return FusionDecision(reason); }
  static FusionDecision yesIf(bool holds, llvm::StringLiteral otherwise) {
    return holds ? yes() : no(otherwise);
  }

  explicit operator bool() const { return why.empty(); }
  llvm::StringRef reason() const { return why; }

private:
  FusionDecision() = default;
  explicit FusionDecision(llvm::StringRef reason) : why(reason) {}
  llvm::StringRef why;
};

} // namespace headrace
