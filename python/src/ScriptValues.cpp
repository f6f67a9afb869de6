#include "ScriptValues.h"

#include "Arrays.h"
#include "script/host/Frame.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

using script::List;
using script::Value;

namespace {

Tensor arrayFromPython(nb::handle value, DType type, size_t rank) {
  TensorSpec spec{"a matrix", type, std::vector<DimExpr>(rank)};
  nb::object fail = nb::cpp_function([](nb::object, size_t) -> nb::object {
    throw InternalError("an array that was not converted");
  });
  return tensorFromPython(value, spec, 0, fail);
}

/// ("frame", rows, [(name, type, cells)]): a cell is a str, or None.
Value frameFromPython(const nb::tuple &parts) {
  script::Frame frame{nb::cast<int64_t>(parts[1]), {}};
  for (nb::handle entry : nb::cast<nb::list>(parts[2])) {
    auto column = nb::cast<nb::tuple>(entry);
    auto type = nb::cast<std::string>(column[1]);
    auto known = script::columnTypeNamed(type);
    if (!known)
      throw InternalError("'" + type + "' is not a type of columns");
    script::FrameColumn texts{nb::cast<std::string>(column[0]), script::ColumnType::String,
                              nb::cast<std::vector<script::FrameCell>>(column[2])};
    frame.columns.push_back(script::converted(texts, *known));
  }
  return std::make_shared<const script::Frame>(std::move(frame));
}

nb::object frameToPython(const script::Frame &frame) {
  nb::list columns;
  for (const script::FrameColumn &column : frame.columns)
    columns.append(
        nb::make_tuple(column.name, std::string(nameOf(column.type)), nb::cast(column.cells)));
  return nb::make_tuple("frame", frame.rows, columns);
}

} // namespace

Value scriptValueFromPython(nb::handle value) {
  if (nb::isinstance<Value>(value))
    return nb::cast<Value>(value);
  if (nb::isinstance<nb::bool_>(value))
    return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value))
    return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value))
    return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value))
    return nb::cast<std::string>(value);
  if (nb::isinstance<nb::tuple>(value)) {
    auto parts = nb::cast<nb::tuple>(value);
    if (nb::isinstance<nb::str>(parts[0]))
      return frameFromPython(parts);
    return inPreferredFormat(CsrMatrix::fromArrays(
        nb::cast<int64_t>(parts[0]), nb::cast<int64_t>(parts[1]),
        arrayFromPython(parts[2], DType::I64, 1), arrayFromPython(parts[3], DType::I64, 1),
        arrayFromPython(parts[4], DType::F64, 1)));
  }
  return arrayFromPython(value, DType::F64, 2);
}

nb::object scriptValueToPython(const Value &value) {
  if (auto *whole = value.as<int64_t>())
    return nb::cast(*whole);
  if (auto *real = value.as<double>())
    return nb::cast(*real);
  if (auto *truth = value.as<bool>())
    return nb::cast(*truth);
  if (auto *text = value.as<std::string>())
    return nb::cast(*text);
  if (auto *list = value.as<std::shared_ptr<const List>>()) {
    nb::list entries;
    for (const auto &[name, entry] : (*list)->entries)
      entries.append(nb::make_tuple(name, scriptValueToPython(entry)));
    return entries;
  }
  if (auto *frame = value.as<script::FramePtr>())
    return frameToPython(**frame);
  if (const CsrMatrix *sparse = value.sparse())
    return nb::make_tuple(sparse->rows(), sparse->cols(), tensorToNumpy(sparse->offsetArray()),
                          tensorToNumpy(sparse->columnArray()),
                          tensorToNumpy(sparse->valuesArray()));
  return tensorToNumpy(denseOf(*value.matrix()));
}

} // namespace headrace::python
