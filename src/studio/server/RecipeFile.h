// A recipe as a file for people: a first line says of which model it is, so that the file alone
// opens the session again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::studio {

/// "# headrace studio digits.onnx --size batch=16".
std::string recipeHeading(const std::vector<std::string> &words);

/// The model and options of a recipe's first line; nothing if that line has none. Quotes are those
/// of `shellText`.
std::vector<std::string> wordsOfHeading(const std::string &recipe);

/// The model that a recipe names: as it stands, or beside the recipe.
std::filesystem::path modelBeside(const std::filesystem::path &recipe, const std::string &model);

} // namespace headrace::studio
