#pragma once

#include "runtime/matrix/FileDescription.h"

#include "script/host/Frame.h"

namespace headrace::script {

/// Reads a csv file as a frame. Fields may be quoted; columns are strings unless the schema says
/// otherwise; empty fields and those of `missing` are cells without a value. Throws Error, with the
/// line, if the file does not fit its description.
Frame readFrame(const std::filesystem::path &path, const FileDescription &said);

/// Writes the frame as csv with its metadata, each file whole or not at all.
void writeFrame(const std::filesystem::path &path, const Frame &frame, const FileDescription &how);

} // namespace headrace::script
