// A model mapped to the intrinsics of an accelerator, piece by piece.
#pragma once

#include "driver/Settings.h"
#include "rewrite/accelerator/Mapping.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace headrace {

struct ModelMapping {
  struct Piece {
    std::string name;                   ///< of its last operator
    std::vector<std::string> operators; ///< the user's, in order
    rewrite::Mapping mapping;
  };
  struct LeftOver {
    std::string name, reason; ///< of an operator
  };
  std::vector<Piece> pieces;
  /// Operators that have no form as a term: pieces end where they are.
  std::vector<LeftOver> leftOver;
};

/// Values for the dynamic dimensions of these names; if they stay dynamic, terms are those of one
/// element of the first axis.
using SizesFor =
    std::function<std::vector<std::optional<int64_t>>(const std::vector<std::string> &)>;

/// The model's program after `simplify` as terms, and each of them mapped. Throws Error if the
/// model is split into several programs.
ModelMapping mapModel(const std::filesystem::path &path, const SizesFor &sizesFor,
                      rewrite::Terms &terms, const rewrite::Accelerator &machine,
                      const rewrite::RuleSet &rules, const rewrite::MappingOptions &options);

} // namespace headrace
