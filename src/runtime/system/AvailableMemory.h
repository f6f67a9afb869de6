#pragma once

#include "runtime/system/Error.h"

#include <cstddef>
#include <optional>
#include <string>

namespace headrace {

/// Bytes that this process can still write to before the system would end it: the machine's
/// available memory, or what is left of the limits of the process's control groups, and free swap
/// space. Nothing if the system does not tell. Reads files of the system: tens of microseconds.
std::optional<size_t> availableMemory();

/// 3 to 5 digits and a unit: "8.0 GB", "750.0 MB", "12 B".
std::string memoryText(size_t bytes);

/// An allocation that does not fit into memory.
class OutOfMemory : public Error {
public:
  /// `available`: nothing if the system rejected without telling.
  OutOfMemory(const std::string &what, size_t bytes, std::optional<size_t> available);

  /// With what the memory was for, "a dense matrix of 100 x 10".
  OutOfMemory withPurpose(const std::string &what, const std::string &purpose) const;

  size_t bytes() const { return neededBytes; }
  /// The message without its beginning: "needs 8.0 GB for a dense matrix of 100 x 10, 6.0 GB are
  /// available".
  const std::string &need() const { return needText; }

private:
  OutOfMemory(const std::string &what, size_t bytes, std::string reason,
              const std::string &purpose);

  size_t neededBytes;
  std::string reasonText, needText;
};

} // namespace headrace
