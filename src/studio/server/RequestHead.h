// The checks of a request's head, before anything else of it is read.
#pragma once

#include <string>
#include <string_view>

namespace headrace::studio {

struct ServerIdentity {
  int port = 0;
  std::string token;
};

/// Why a request is refused: a status of HTTP and a word to the user; status 0 lets it pass.
struct Refusal {
  int status = 0;
  std::string reason;
};

/// Checks the request line and the headers: a method and a path under the token, a Host that is
/// this server (so that no other name can be made to point here), an Origin, if there is one, that
/// is this server's page, a length of the body within `maxBody`, and nothing that the server does
/// not need: ranges, chunks, expectations.
Refusal refusalOf(std::string_view head, const ServerIdentity &identity, size_t maxBody);

} // namespace headrace::studio
