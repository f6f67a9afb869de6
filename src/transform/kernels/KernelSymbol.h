// The name of a kernel's module, which is a symbol in object code, too.
#pragma once

#include "llvm/ADT/StringExtras.h"

#include <string>

namespace headrace {

inline std::string kernelSymbol(llvm::StringRef name) {
  std::string symbol = "k_";
  for (char c : name.take_back(48))
    symbol += llvm::isAlnum(c) ? c : '_';
  return symbol;
}

} // namespace headrace
