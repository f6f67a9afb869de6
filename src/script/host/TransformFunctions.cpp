// transformencode and its companions, and tokenize.
#include "script/host/HostFunctions.h"
#include "script/host/Transform.h"
#include <algorithm>

namespace headrace::script {

namespace {

Value valueOf(Frame frame) { return std::make_shared<const Frame>(std::move(frame)); }

std::vector<std::string> namesOf(const Frame &frame) {
  std::vector<std::string> names;
  for (const FrameColumn &column : frame.columns)
    names.push_back(column.name);
  return names;
}

/// The transformation that the specification and the metadata describe, for these columns.
Transform transformOf(const HostCall &call, const std::vector<std::string> &names) {
  Transform transform(call.arguments[call.parameter("spec")].text(call.name()), names);
  transform.read(call.arguments[call.parameter("meta")].frame(call.name()));
  return transform;
}

/// transformencode(target, spec) = [matrix, metadata]
Value encode(HostCall &call) {
  const Frame &frame = call.arguments[0].frame(call.name());
  Transform transform(call.arguments[1].text(call.name()), namesOf(frame));
  transform.fit(frame);
  return std::make_shared<const List>(
      List{{{"", transform.encode(frame)}, {"", valueOf(transform.metadata())}}});
}

/// transformapply(target, spec, meta)
Value apply(HostCall &call) {
  const Frame &frame = call.arguments[0].frame(call.name());
  return transformOf(call, namesOf(frame)).encode(frame);
}

/// transformdecode(target, spec, meta)
Value decode(HostCall &call) {
  std::vector<std::string> names =
      namesOf(call.arguments[call.parameter("meta")].frame(call.name()));
  return valueOf(transformOf(call, names).decode(call.matrix(0)));
}

/// transformcolmap(metadata, spec)
Value columnMap(HostCall &call) {
  const Frame &metadata = call.arguments[0].frame(call.name());
  Transform transform(call.arguments[1].text(call.name()), namesOf(metadata));
  transform.read(metadata);
  return transform.columnMap();
}

} // namespace

const HostTable &transformFunctions() {
  static const HostTable table = {{"transformencode", encode},
                                  {"transformapply", apply},
                                  {"transformdecode", decode},
                                  {"transformcolmap", columnMap}};
  return table;
}

} // namespace headrace::script
