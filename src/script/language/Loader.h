#pragma once

#include "script/language/Analysis.h"
#include <deque>

namespace headrace::script {

/// One file: its functions, and the namespaces it gave to others.
struct Module {
  std::shared_ptr<const Script> script;
  std::filesystem::path folder; ///< its own, or what setwd(...) made of it
  std::string workingFolder;    ///< the text of its setwd(...)
  std::map<std::string, const FunctionDefinition *> functions;
  std::map<std::string, Module *> imports;
};

/// The files of a program. Each is read once, whoever names it, so that files which source each
/// other do no harm.
class Loader {
public:
  /// `files`: what there is instead of the disk, or null.
  Loader(Script main, const std::vector<std::filesystem::path> &scriptPath,
         std::shared_ptr<const ScriptFiles> files);

  Module &main() { return modules.front(); }
  /// The function that NAME.dml of the script path defines; both null if there is none.
  std::pair<Module *, const FunctionDefinition *> autoload(const std::string &name);
  std::vector<std::shared_ptr<const Script>> scripts() const;

private:
  Module &add(Script script, std::filesystem::path folder);
  void loadImports();
  Module *load(const std::filesystem::path &file);
  std::filesystem::path locate(const Module &from, const Import &import,
                               SourceLocation place) const;
  bool allowed(const std::filesystem::path &file) const;
  std::filesystem::path resolved(const std::filesystem::path &path) const;
  bool exists(const std::filesystem::path &file) const;
  Source read(const std::filesystem::path &file) const;

  std::shared_ptr<const ScriptFiles> files;
  std::vector<std::filesystem::path> scriptPath; ///< canonical
  std::vector<std::filesystem::path> roots;      ///< what files are read from
  std::deque<Module> modules;
  size_t withImports = 0; ///< how many of the modules have theirs loaded
  std::map<std::filesystem::path, Module *> byFile;
};

} // namespace headrace::script
