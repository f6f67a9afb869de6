// A program as JSON and back; see docs/packages.md.
#pragma once

#include "runtime/program/Explanation.h"
#include "runtime/program/Program.h"
#include "runtime/system/Json.h"

#include <functional>

namespace headrace {

/// Name, symbols, inputs and outputs.
Json interfaceToJson(const Program &program);
Program interfaceFromJson(const Json &json);

/// `keep` stores a constant's bytes and gives the number to find them by.
Json programToJson(const Program &program, const std::function<size_t(const Tensor &)> &keep);
/// Checks that the parts fit together; throws JsonFault if they do not. `engine` is that of
/// steps and buffers that name none.
Program programFromJson(const Json &json,
                        const std::function<Tensor(size_t, DType, const Shape &)> &find,
                        const std::string &engine = hostEngine);

Json notesToJson(const ProgramNotes &notes);
ProgramNotes notesFromJson(const Json &json, const Program &program);

} // namespace headrace
