#include "ScriptHelpers.h"

namespace headrace::script {
namespace {

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

TEST(Loader, SourcedFilesHaveNamespaces) {
  ScriptFolder folder;
  folder.write("main.dml", "source(\"lib/a.dml\") as a\nx = a::f(1)");
  folder.write("lib/a.dml", "source(\"b.dml\") as b\n"
                            "f = function(Double x) return (Double y) { y = b::g(x) + h(x) }\n"
                            "h = function(Double x) return (Double y) { y = x }\n");
  folder.write("lib/b.dml", "g = function(Double x) return (Double y) { y = 2 * x }");
  Program program = folder.analyze("main.dml");
  EXPECT_EQ(program.functions.size(), 3U);
  EXPECT_EQ(program.scripts.size(), 3U);
}

TEST(Loader, FilesMaySourceEachOther) {
  ScriptFolder folder;
  folder.write("a.dml", "source(\"b.dml\") as b\n"
                        "f = function(Integer n) return (Integer y) { y = b::g(n) }\nx = f(3)");
  folder.write("b.dml", "source(\"a.dml\") as a\n"
                        "g = function(Integer n) return (Integer y) {\n"
                        "  y = 0\n  if (n > 0) y = a::f(n - 1)\n}");
  EXPECT_EQ(folder.analyze("a.dml").functions.size(), 2U);
}

TEST(Loader, FunctionsComeFromTheScriptPath) {
  ScriptFolder scripts, library;
  scripts.write("main.dml", "y = twice(2)\nz = plain(y)");
  library.write("twice.dml", "m_twice = function(Double x) return (Double y) { y = helper(x) }\n"
                             "helper = function(Double x) return (Double y) { y = 2 * x }");
  library.write("plain.dml", "plain = function(Double x) return (Double y) { y = x }");
  library.write("empty.dml", "x = 1");
  AnalysisOptions options;
  options.scriptPath = {library.path};
  EXPECT_EQ(scripts.analyze("main.dml", options).functions.size(), 3U);

  scripts.write("bad.dml", "y = empty(2)");
  EXPECT_EQ(errorOf([&] { scripts.analyze("bad.dml", options); }),
            (std::filesystem::canonical(library.path) / "empty.dml").string() +
                ": expected a function 'empty' or 'm_empty'");
  // Helpers of a file are its own.
  scripts.write("helper.dml", "y = helper(2)");
  EXPECT_EQ(firstLine(errorOf([&] { scripts.analyze("helper.dml", options); })),
            (scripts.path / "helper.dml").string() + ":1:5: unknown function 'helper'");
}

TEST(Loader, StaysInItsFolders) {
  ScriptFolder folder;
  folder.write("secret.dml", "f = function() return (Double y) { y = 1 }");
  folder.write("in/main.dml", "source(\"../secret.dml\") as s\nx = s::f()");
  folder.write("in/absolute.dml",
               "source(\"" + (folder.path / "secret.dml").string() + "\") as s\nx = s::f()");
  folder.write("in/moved.dml", "setwd(\"..\")\nsource(\"secret.dml\") as s\nx = s::f()");
  std::filesystem::create_symlink("../secret.dml", folder.path / "in/link.dml");
  folder.write("in/linked.dml", "source(\"link.dml\") as s\nx = s::f()");
  for (const char *name : {"main", "absolute", "moved", "linked"})
    EXPECT_NE(errorOf([&] {
                folder.analyze(std::string("in/") + name + ".dml");
              }).find("is not in the script's directory or the script path"),
              std::string::npos)
        << name;
}

TEST(Loader, MissingFilesAndFolders) {
  ScriptFolder folder;
  folder.write("main.dml", "source(\"none.dml\") as n");
  EXPECT_EQ(errorOf([&] { folder.analyze("main.dml"); }),
            (folder.path / "main.dml").string() +
                ":1:1: cannot find 'none.dml' in the script's directory or the script path\n"
                "  source(\"none.dml\") as n\n"
                "  ^");
  AnalysisOptions options;
  options.scriptPath = {"/no/such/folder"};
  EXPECT_EQ(analysisError("x = 1", options),
            "script path: expected a directory, got '/no/such/folder'");
}

TEST(Loader, MistakesInSourcedFilesAreShownThere) {
  ScriptFolder folder;
  folder.write("main.dml", "source(\"a.dml\") as a\nx = a::f()");
  folder.write("a.dml", "f = function() return (Double y) {\n  y = oops\n}");
  EXPECT_EQ(errorOf([&] { folder.analyze("main.dml"); }),
            (std::filesystem::canonical(folder.path) / "a.dml").string() +
                ":2:7: variable 'oops' is not defined\n"
                "    y = oops\n"
                "        ^");
}

TEST(Loader, NamespacesAreUnique) {
  ScriptFolder folder;
  folder.write("a.dml", "f = function() { x = 1 }");
  folder.write("b.dml", "f = function() { x = 1 }");
  folder.write("main.dml", "source(\"a.dml\") as n\nsource(\"b.dml\") as n");
  EXPECT_EQ(firstLine(errorOf([&] { folder.analyze("main.dml"); })),
            (folder.path / "main.dml").string() + ":2:1: namespace 'n' is given to two files");
}

TEST(Loader, WorkingFolderIsHandedOn) {
  EXPECT_EQ(analyzed("setwd(\"data\")\nx = 1").folder, "data");
}

} // namespace
} // namespace headrace::script
