// The word that a misspelt one was meant to be, for messages.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace headrace {

/// How many letters are put in, left out, replaced or exchanged with the next one.
size_t editDistance(llvm::StringRef a, llvm::StringRef b);

/// "; did you mean 'split'?"; empty if no word is near.
std::string suggestion(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> words);

} // namespace headrace
