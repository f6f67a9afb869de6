// Whether something can be done, and the reason where it cannot.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

class [[nodiscard]] Verdict {
public:
  static Verdict yes() { return Verdict(); }
  /// The reason completes a sentence that begins with what was asked for: "it is ...".
  static Verdict no(llvm::StringLiteral reason) { return Verdict(reason); }
  static Verdict yesIf(bool holds, llvm::StringLiteral otherwise) {
    return holds ? yes() : no(otherwise);
  }

  explicit operator bool() const { return why.empty(); }
  llvm::StringRef reason() const { return why; }

private:
  Verdict() = default;
  explicit Verdict(llvm::StringRef reason) : why(reason) {}
  llvm::StringRef why;
};

} // namespace headrace
