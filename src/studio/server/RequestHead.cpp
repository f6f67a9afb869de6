#include "studio/server/RequestHead.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace headrace::studio {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

/// Takes as long wherever the difference is.
bool isEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string_view takeLine(std::string_view &text) {
  size_t end = text.find("\r\n");
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return line;
}

bool isPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

Refusal checkTarget(std::string_view line, const ServerIdentity &identity, bool &isPost) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !line.ends_with(" HTTP/1.1"))
    return {400, "expected a request of HTTP/1.1"};
  std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!isPlain(target) || !target.starts_with('/'))
    return {400, "expected a path"};
  isPost = method == "POST";
  if (!isPost && method != "GET")
    return {405, "expected GET or POST"};
  target.remove_prefix(1);
  size_t end = std::min(target.find('/'), target.size());
  if (!isEqual(target.substr(0, end), identity.token) || end == target.size())
    return {403, "expected the address that headrace studio printed"};
  return {};
}

} // namespace

Refusal refusalOf(std::string_view head, const ServerIdentity &identity, size_t maxBody) {
  bool isPost = false;
  if (Refusal refusal = checkTarget(takeLine(head), identity, isPost); refusal.status)
    return refusal;
  const std::string port = ":" + std::to_string(identity.port);
  const std::array<std::string, 2> names = {"127.0.0.1" + port, "localhost" + port};
  std::optional<std::string> host;
  std::optional<size_t> length;
  bool isJson = false;
  while (!head.empty()) {
    std::string_view line = takeLine(head);
    if (line.empty())
      continue;
    size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line.front() == ' ' ||
        line.front() == '\t')
      return {400, "expected headers"};
    std::string name = lower(line.substr(0, colon));
    std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "host") {
      if (host)
        return {400, "expected one Host"};
      host = lower(value);
    } else if (name == "origin") {
      bool isOwn = std::ranges::any_of(
          names, [&](const std::string &own) { return lower(value) == "http://" + own; });
      if (!isOwn)
        return {403, "expected the page of this server as origin"};
    } else if (name == "sec-fetch-site") {
      if (value != "same-origin" && value != "none")
        return {403, "expected the page of this server as origin"};
    } else if (name == "content-length") {
      size_t number = 0;
      auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (length || error != std::errc() || end != value.data() + value.size())
        return {400, "expected one length of the body"};
      length = number;
    } else if (name == "content-type") {
      isJson = lower(value).starts_with("application/json");
    } else if (name == "transfer-encoding" || name == "expect" || name == "range" ||
               name == "upgrade" || name == "content-encoding") {
      return {400, "unexpected header " + name};
    }
  }
  if (!host || std::ranges::find(names, *host) == names.end())
    return {403, "expected this server as host"};
  if (isPost && (!length || !isJson))
    return {411, "expected JSON with its length"};
  if (length.value_or(0) > maxBody || (!isPost && length.value_or(0) > 0))
    return {413, "expected a body of at most " + std::to_string(maxBody) + " bytes"};
  return {};
}

} // namespace headrace::studio
