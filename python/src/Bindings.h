// The parts of the extension module; each file of this directory registers one.
#pragma once

#include "runtime/program/Explanation.h"

#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <vector>

namespace headrace::python {

/// Errors of the compiler become the classes of headrace.errors.
void registerErrors();

void registerSettings(nanobind::module_ &module);
void registerModel(nanobind::module_ &module);
void registerDeviceArrays(nanobind::module_ &module);
void registerScript(nanobind::module_ &module);
void registerMatrices(nanobind::module_ &module);
void registerExploration(nanobind::module_ &module);
void registerQuantize(nanobind::module_ &module);
void registerOptimize(nanobind::module_ &module);
void registerTune(nanobind::module_ &module);
void registerVerify(nanobind::module_ &module);
void registerExpressions(nanobind::module_ &module);
void registerGraph(nanobind::module_ &module);
void registerSchedules(nanobind::module_ &module);
void registerCommandLine(nanobind::module_ &module);

/// An expression as an int if it is constant, else as text in the names of the symbols.
nanobind::object dimensionToPython(const DimExpr &dim, const std::vector<std::string> &symbols);

/// Plain dictionaries and lists; amounts are numbers if every symbol they need has a size.
nanobind::dict explanationToPython(const Explanation &explanation,
                                   const std::vector<std::string> &symbols,
                                   const std::vector<std::optional<int64_t>> &sizes);

} // namespace headrace::python
