#include "studio/server/Studio.h"

#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include "studio/page/Files.h"
#include "studio/server/ViewJson.h"

namespace headrace::studio {

namespace fs = std::filesystem;

namespace {

// Scripts read it before anything else: null if a server answers.
constexpr std::string_view kNoData = "window.headraceData = null;\n";

} // namespace

PageAnswer answerOf(Session &session, const PageRequest &request) {
  if (request.path.starts_with("api/"))
    return session.answer(request);
  if (!request.isPost && request.path == "data.js")
    return {200, "text/javascript; charset=utf-8", std::string(kNoData)};
  const PageFile *file = findPageFile(request.path.empty() ? "index.html" : request.path);
  if (request.isPost || !file)
    return {404, "text/plain", "nothing is here\n"};
  return {200, std::string(file->type), std::string(file->text())};
}

void exportPage(Session &session, const fs::path &directory) {
  std::string data = "window.headraceData = " + inertText(session.exported()) + ";\n";
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    throw Error(ErrorKind::Io, directory.string() + ": cannot make this directory");
  auto write = [&](std::string_view name, std::string_view text) {
    writeFileAtomically(directory / name, {std::as_bytes(std::span(text))});
  };
  for (const PageFile &file : pageFiles())
    write(file.name, file.text());
  write("data.js", data);
}

} // namespace headrace::studio
