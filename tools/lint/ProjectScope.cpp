// A plugin of clang-tidy: checks visit the project's own declarations. Without it they go through
// all of MLIR's in the precompiled header too, nine tenths of the time, for warnings that are not
// shown anyway.
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/FrontendPluginRegistry.h"
#include <memory>
#include <string>
#include <vector>

namespace {

class ProjectScope : public clang::ASTConsumer {
  void HandleTranslationUnit(clang::ASTContext &context) override {
    const clang::SourceManager &sources = context.getSourceManager();
    std::vector<clang::Decl *> ours;
    for (clang::Decl *declaration : context.getTranslationUnitDecl()->noload_decls())
      if (!declaration->isFromASTFile() && !sources.isInSystemHeader(declaration->getLocation()))
        ours.push_back(declaration);
    context.setTraversalScope(ours);
  }
};

class ProjectScopeAction : public clang::PluginASTAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance & /*compiler*/,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<ProjectScope>();
  }
  bool ParseArgs(const clang::CompilerInstance & /*compiler*/,
                 const std::vector<std::string> & /*arguments*/) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};

} // namespace

static clang::FrontendPluginRegistry::Add<ProjectScopeAction>
    registration("project-scope", "checks visit the project's declarations alone");
