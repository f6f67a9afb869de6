#include "script/language/Loader.h"

#include "script/language/Parser.h"
#include <algorithm>

namespace fs = std::filesystem;

namespace headrace::script {

constexpr size_t kMaximumFiles = 2000;

fs::path Loader::resolved(const fs::path &path) const {
  if (files)
    return path.lexically_normal();
  std::error_code ignored;
  fs::path result = fs::weakly_canonical(path, ignored);
  return result.empty() ? fs::absolute(path, ignored) : result;
}

bool Loader::exists(const fs::path &file) const {
  return files ? files->contains(file) : fs::is_regular_file(file);
}

Source Loader::read(const fs::path &file) const {
  return files ? Source(file.string(), files->at(file)) : Source::read(file);
}

Loader::Loader(Script script, const std::vector<fs::path> &path,
               std::shared_ptr<const ScriptFiles> given)
    : files(std::move(given)) {
  fs::path name = script.source->name();
  fs::path folder = resolved((files ? name : fs::absolute(name)).parent_path());
  for (const fs::path &entry : path) {
    if (!files && !fs::is_directory(entry))
      throw Error(ErrorKind::InvalidArgument,
                  "script path: expected a directory, got '" + entry.string() + "'");
    scriptPath.push_back(resolved(entry));
  }
  roots = scriptPath;
  roots.insert(roots.begin(), folder);
  fs::path file = resolved(script.source->name());
  byFile[file] = &add(std::move(script), folder);
  loadImports();
}

Module &Loader::add(Script script, fs::path folder) {
  Module &module = modules.emplace_back();
  module.script = std::make_shared<const Script>(std::move(script));
  module.folder = std::move(folder);
  for (const FunctionDefinition &function : module.script->functions)
    if (!module.functions.emplace(function.name, &function).second)
      fail(function.place, "function '" + function.name + "' is defined twice");
  return module;
}

/// Goes on until no module is left whose imports are not loaded: no recursion, however long a
/// chain of files is.
void Loader::loadImports() {
  for (; withImports < modules.size(); ++withImports) {
    Module &module = modules[withImports];
    for (const StatementPtr &statement : module.script->statements) {
      if (auto *folder = statement->as<SetFolder>()) {
        module.workingFolder = folder->path;
        module.folder = resolved(module.folder / folder->path);
      } else if (auto *import = statement->as<Import>()) {
        Module *imported = load(locate(module, *import, statement->place));
        auto [entry, isNew] = module.imports.emplace(import->space, imported);
        if (!isNew && entry->second != imported)
          fail(statement->place, "namespace '" + import->space + "' is given to two files");
      }
    }
  }
}

bool Loader::allowed(const fs::path &file) const {
  return std::ranges::any_of(roots, [&](const fs::path &root) {
    auto end = std::ranges::mismatch(root, file).in1;
    return end == root.end() || (std::next(end) == root.end() && end->empty());
  });
}

fs::path Loader::locate(const Module &from, const Import &import, SourceLocation place) const {
  std::vector<fs::path> folders = {from.folder};
  folders.insert(folders.end(), roots.begin(), roots.end());
  bool outside = false;
  for (const fs::path &folder : folders) {
    fs::path file = resolved(folder / import.path);
    outside |= !allowed(file);
    if (allowed(file) && exists(file))
      return file;
  }
  // "scripts/nn/util.dml", with a folder of that name in the script path
  for (const fs::path &root : roots)
    if (fs::path file = resolved(root.parent_path() / import.path); allowed(file) && exists(file))
      return file;
  if (outside)
    fail(place, "'" + import.path + "' is not in the script's directory or the script path");
  fail(place, "cannot find '" + import.path + "' in the script's directory or the script path",
       ErrorKind::Io);
}

Module *Loader::load(const fs::path &file) {
  if (auto known = byFile.find(file); known != byFile.end())
    return known->second;
  if (modules.size() >= kMaximumFiles)
    throw Error(ErrorKind::InvalidScript, file.string() + ": a script may have at most " +
                                              std::to_string(kMaximumFiles) + " files");
  Module &module = add(parse(std::make_shared<Source>(read(file))), file.parent_path());
  byFile[file] = &module;
  return &module;
}

std::pair<Module *, const FunctionDefinition *> Loader::autoload(const std::string &name) {
  std::vector<fs::path> folders;
  for (const fs::path &folder : scriptPath)
    folders.insert(folders.end(), {folder, folder / "builtin"});
  for (const fs::path &folder : folders) {
    fs::path file = resolved(folder / (name + ".dml"));
    if (!allowed(file) || !exists(file))
      continue;
    Module *module = load(file);
    loadImports();
    for (const std::string &candidate : {"m_" + name, "f_" + name, "s_" + name, name})
      if (auto found = module->functions.find(candidate); found != module->functions.end())
        return {module, found->second};
    std::string what = ": expected a function '" + name;
    what.append("' or 'm_").append(name).append("'");
    throw Error(ErrorKind::InvalidScript, file.string() + what);
  }
  return {nullptr, nullptr};
}

std::vector<std::shared_ptr<const Script>> Loader::scripts() const {
  std::vector<std::shared_ptr<const Script>> all;
  all.reserve(modules.size());
  for (const Module &module : modules)
    all.push_back(module.script);
  return all;
}

} // namespace headrace::script
