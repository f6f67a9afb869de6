// Reads JSON from untrusted files.
#pragma once

#include "runtime/system/JsonNesting.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace headrace {

using Json = nlohmann::ordered_json;

/// A fault in a document; whoever reads the file turns it into an Error that names the file.
class JsonFault : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Parses JSON. Throws JsonFault, whose message calls the text `what`.
inline Json parseJson(std::string_view text, const std::string &what) {
  if (isNestedBeyond(text, maxJsonNesting))
    throw JsonFault(what + " is not JSON of at most " + std::to_string(maxJsonNesting) + " levels");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    throw JsonFault(what + " is not JSON");
  return json;
}

/// The member of an object. Throws JsonFault if it is missing.
inline const Json &member(const Json &object, const char *name) {
  auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end())
    throw JsonFault(std::string("expected '") + name + "'");
  return *found;
}

/// The member of an object, which must be an array. Throws JsonFault otherwise.
inline const Json &list(const Json &object, const char *name) {
  const Json &value = member(object, name);
  if (!value.is_array())
    throw JsonFault(std::string("expected a list '") + name + "'");
  return value;
}

/// The string; throws JsonFault for any other value.
inline std::string text(const Json &value) {
  if (!value.is_string())
    throw JsonFault("expected a text, got " + std::string(value.type_name()));
  return value.get<std::string>();
}

inline std::string text(const Json &object, const char *name) { return text(member(object, name)); }

/// The integer; throws JsonFault for any other value, or one outside [least, most].
inline int64_t integerOf(const Json &value, int64_t least = INT64_MIN, int64_t most = INT64_MAX) {
  bool fits = value.is_number_integer() &&
              (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{INT64_MAX});
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    throw JsonFault("expected a number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", got " +
                    (value.is_number() ? value.dump().substr(0, 40) : value.type_name()));
  return value.get<int64_t>();
}

/// The member of an object, which must be an integer in [least, most]. Throws JsonFault otherwise.
inline int64_t integer(const Json &object, const char *name, int64_t least = INT64_MIN,
                       int64_t most = INT64_MAX) {
  return integerOf(member(object, name), least, most);
}

} // namespace headrace
