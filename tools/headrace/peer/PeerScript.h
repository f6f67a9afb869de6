// The Python program that times peers, peer.py: it travels inside the command.
#pragma once

#include <string_view>

namespace headrace::cli {

std::string_view peerScript();

} // namespace headrace::cli
