#pragma once

#include "runtime/matrix/FileDescription.h"
#include "runtime/matrix/Matrix.h"

#include <variant>

/// Matrices and scalars in files, as scripts read and write them. Errors name the file and, if
/// there is one, the line and field.
namespace headrace {

/// Dense or sparse by its nonzeros. The description `said` goes before the metadata next to the
/// file; the file must agree with both.
Matrix readMatrix(const std::filesystem::path &path, const FileDescription &said = {},
                  ThreadPool &pool = ThreadPool::global());

/// Writes the matrix and its metadata (`path`.mtd), each file whole or not at all. Of `how` the
/// format (else by name as in describeFile, else text), header and separator count. Numbers read
/// back as the same doubles; cells that are 0 are left out of text and MatrixMarket files.
void writeMatrix(const std::filesystem::path &path, const Matrix &matrix,
                 const FileDescription &how = {}, ThreadPool &pool = ThreadPool::global());

using Scalar = std::variant<double, int64_t, bool, std::string>;

/// Reads a scalar of the type in `said` or in the metadata, else a double. Throws Error if the file
/// does not hold one.
Scalar readScalar(const std::filesystem::path &path, const FileDescription &said = {});
void writeScalar(const std::filesystem::path &path, const Scalar &scalar);

} // namespace headrace
