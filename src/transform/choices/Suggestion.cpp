#include "transform/choices/Suggestion.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace headrace {

size_t editDistance(llvm::StringRef a, llvm::StringRef b) {
  using Row = llvm::SmallVector<size_t, 64>;
  Row beforeLast(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(beforeLast, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
  }
  return row.back();
}

std::string suggestion(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> words) {
  llvm::StringRef nearest;
  size_t least = std::max<size_t>(word.size() / 3, 2) + 1;
  for (llvm::StringRef candidate : words)
    if (size_t distance = editDistance(word, candidate);
        distance < least && distance < candidate.size()) {
      nearest = candidate;
      least = distance;
    }
  return nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?";
}

} // namespace headrace
