#pragma once

#include "runtime/matrix/FileDescription.h"
#include "runtime/matrix/Matrix.h"
#include "runtime/system/AtomicWrite.h"

/// Binary blocks as SystemDS stores a matrix: sequence files of Hadoop, version 6, whose records
/// are blocks of at most 1000 x 1000 cells with their numbers, dense or sparse.
namespace headrace {

/// Reads a file or a directory of part files. Sizes that the description does not give are those
/// that the blocks cover.
Matrix readBinaryBlocks(const std::filesystem::path &path, const FileDescription &description,
                        ThreadPool &pool);

/// Writes one sequence file.
void writeBinaryBlocks(AtomicFile &file, const Matrix &matrix, ThreadPool &pool);

/// The rows and columns of a block that is not at an edge.
inline constexpr int64_t binaryBlockSize = 1000;

} // namespace headrace
