// The page of a program: served, or written as files.
#pragma once

#include "studio/server/Session.h"
#include <filesystem>

namespace headrace::studio {

/// Answers a request: a file of the page, or what the session says.
PageAnswer answerOf(Session &session, const PageRequest &request);

/// Writes the page with the data of the session into the directory, which is made if it does not
/// exist: index.html opens without a server.
void exportPage(Session &session, const std::filesystem::path &directory);

} // namespace headrace::studio
