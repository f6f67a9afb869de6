// Gradient-boosted trees that rank, by XGBoost's C interface. The library is found at run time, in
// the process that tunes only: its threads must not enter programs that run models.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace headrace::tune {

/// A table of rows of equal length.
struct Rows {
  size_t columns = 0;
  std::vector<float> values;

  size_t count() const { return columns ? values.size() / columns : 0; }
  void add(const std::vector<float> &row) {
    columns = row.size();
    values.insert(values.end(), row.begin(), row.end());
  }
};

class BoosterLibrary;

/// Trees that order the rows of a group.
class Booster {
public:
  /// Learns from rows in groups, one after the other, of so many rows each: a higher label is
  /// better. The same for equal rows and seeds. Throws Error if the library reports a fault.
  Booster(const Rows &rows, const std::vector<float> &labels, const std::vector<unsigned> &groups,
          uint64_t seed);
  ~Booster();
  Booster(const Booster &) = delete;

  /// A score for each row, comparable within a group.
  std::vector<float> scores(const Rows &rows) const;

  /// Why there are no boosters; empty if there are: the library was found.
  static const std::string &unsupportedReason();
  /// "XGBoost 1.7.4, /usr/lib/libxgboost.so"
  static std::string library();

private:
  void *handle = nullptr;
};

} // namespace headrace::tune
