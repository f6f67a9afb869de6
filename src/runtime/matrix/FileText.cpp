#include "runtime/matrix/FileText.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/Tensor.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <tuple>
#include <unistd.h>

namespace headrace {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

bool isEmptyFile(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) == 0 && !error;
}

} // namespace

std::vector<fs::path> partFiles(const fs::path &folder) {
  std::vector<fs::path> parts;
  for (const auto &entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && !name.starts_with('.') && !name.starts_with('_'))
      parts.push_back(entry.path());
  }
  if (parts.empty())
    throw Error(ErrorKind::InvalidFile,
                folder.string() + ": expected part files in this directory, got none");
  std::ranges::sort(parts, [](const fs::path &a, const fs::path &b) {
    auto key = [](const fs::path &path) {
      std::string name = path.filename().string();
      size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      return std::tuple(digits, name);
    };
    return key(a) < key(b);
  });
  return parts;
}

static std::string joinedParts(const fs::path &folder) {
  std::string text;
  for (const fs::path &part : partFiles(folder)) {
    if (isEmptyFile(part))
      continue;
    auto mapping = MappedFile::open(part);
    text.append(reinterpret_cast<const char *>(mapping->data()), mapping->size());
    if (!text.ends_with('\n'))
      text += '\n';
  }
  return text;
}

FileText::FileText(const fs::path &path) : file(path.string()) {
  if (isEmptyFile(path))
    return;
  if (std::error_code error; fs::is_directory(path, error)) {
    joined = std::make_shared<const std::string>(joinedParts(path));
    content = *joined;
  } else {
    mapping = MappedFile::open(path);
    content = {reinterpret_cast<const char *>(mapping->data()), mapping->size()};
  }
  if (content.starts_with(byteOrderMark))
    content.remove_prefix(byteOrderMark.size());
  while (!content.empty() && (content.back() == '\n' || content.back() == '\r'))
    content.remove_suffix(1);
}

void FileText::fail(const std::string &reason) const {
  throw Error(ErrorKind::InvalidFile, file + ": " + reason);
}

void FileText::fail(std::string_view place, const std::string &reason) const {
  auto line = 1 + std::count(content.begin(), place.begin(), '\n');
  throw Error(ErrorKind::InvalidFile, file + ":" + std::to_string(line) + ": " + reason);
}

std::string_view takeLine(std::string_view &text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view takeWord(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

std::vector<std::string_view> splitAtLines(std::string_view text) {
  constexpr size_t pieceSize = size_t{1} << 20;
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    size_t end = text.size() <= pieceSize ? std::string_view::npos : text.find('\n', pieceSize);
    size_t size = end == std::string_view::npos ? text.size() : end + 1;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

void forPieces(size_t count, ThreadPool &pool, FunctionRef<void(size_t)> body) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> firstFailure{count};
  pool.parallelFor(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end, int) {
    for (auto piece = static_cast<size_t>(begin); piece < static_cast<size_t>(end); ++piece) {
      if (piece > firstFailure)
        return;
      try {
        body(piece);
      } catch (...) {
        failures[piece] = std::current_exception();
        size_t known = firstFailure;
        while (piece < known && !firstFailure.compare_exchange_weak(known, piece)) {
        }
        return;
      }
    }
  });
  if (firstFailure < count)
    std::rethrow_exception(failures[firstFailure]);
}

void checkFitsMemory(const std::string &file, int64_t rows, int64_t cols, double bytes) {
  double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes > memory)
    throw Error(ErrorKind::InvalidFile,
                file + ": expected a matrix that fits into this machine's memory, got sizes " +
                    shapeString({rows, cols}));
}

} // namespace headrace
