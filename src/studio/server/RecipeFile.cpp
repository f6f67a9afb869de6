#include "studio/server/RecipeFile.h"

#include "studio/server/Command.h"

namespace headrace::studio {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStart = "# headrace studio ";

} // namespace

std::string recipeHeading(const std::vector<std::string> &words) {
  std::string line = std::string(kStart) + shellText(words);
  return line.find('\n') == std::string::npos ? line + "\n"
                                              : ""; // a name with a line break has no heading
}

std::vector<std::string> wordsOfHeading(const std::string &recipe) {
  if (!recipe.starts_with(kStart))
    return {};
  std::vector<std::string> words;
  std::string word;
  bool isQuoted = false, hasWord = false;
  for (size_t i = kStart.size(); i < recipe.size() && recipe[i] != '\n'; ++i) {
    char c = recipe[i];
    if (c == '\'') {
      isQuoted = !isQuoted;
      hasWord = true;
    } else if (c == '\\' && !isQuoted && i + 1 < recipe.size()) {
      word += recipe[++i];
      hasWord = true;
    } else if (c == ' ' && !isQuoted) {
      if (hasWord)
        words.push_back(std::move(word));
      word.clear();
      hasWord = false;
    } else if (c != '\r') {
      word += c;
      hasWord = true;
    }
  }
  if (hasWord)
    words.push_back(std::move(word));
  return words;
}

fs::path modelBeside(const fs::path &recipe, const std::string &model) {
  std::error_code error;
  if (fs::exists(model, error))
    return model;
  fs::path beside = recipe.parent_path() / fs::path(model).filename();
  return fs::exists(beside, error) ? beside : fs::path(model);
}

} // namespace headrace::studio
