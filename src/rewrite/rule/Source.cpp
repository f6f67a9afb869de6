#include "rewrite/rule/Source.h"

#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::rewrite {

constexpr size_t maximumBytes = size_t{4} << 20;
/// How much of a long line a message shows on each side of its caret.
constexpr size_t excerpt = 60;

Source::Source(std::string name, std::string text)
    : fileName(std::move(name)), contents(std::move(text)) {
  auto refuse = [&](const std::string &found) {
    throw Error(ErrorKind::InvalidFile, fileName + ": expected a text of at most " +
                                            std::to_string(maximumBytes) + " bytes, got " + found);
  };
  if (contents.size() > maximumBytes)
    refuse(std::to_string(contents.size()));
  if (size_t zero = contents.find('\0'); zero != std::string::npos)
    refuse("a zero byte at byte " + std::to_string(zero));
}

std::shared_ptr<const Source> Source::read(const std::filesystem::path &path) {
  auto file = MappedFile::open(path);
  size_t size = std::min(file->size(), maximumBytes + 1);
  return std::make_shared<Source>(path.string(),
                                  std::string(reinterpret_cast<const char *>(file->data()), size));
}

namespace {

struct Line {
  size_t number, begin, end;
};

Line lineAt(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  size_t begin = before == std::string_view::npos ? 0 : before + 1;
  size_t end = std::min(text.find('\n', begin), text.size());
  auto number = std::ranges::count(text.substr(0, begin), '\n') + 1;
  return {static_cast<size_t>(number), begin, end};
}

} // namespace

std::string SourceLocation::text() const {
  Line line = lineAt(source->text(), offset);
  return source->name() + ":" + std::to_string(line.number) + ":" +
         std::to_string(offset - line.begin + 1);
}

void fail(const SourceLocation &place, const std::string &message) {
  std::string_view text = place.source->text();
  Line line = lineAt(text, place.offset);
  size_t from = std::max(line.begin, place.offset - std::min<size_t>(place.offset, excerpt));
  size_t to = std::min(line.end, place.offset + excerpt);
  std::string shown;
  size_t caret = 0;
  for (size_t i = from; i < to; ++i) {
    if (i == place.offset)
      caret = shown.size();
    auto byte = static_cast<unsigned char>(text[i]);
    shown += byte < 0x20 || byte == 0x7f ? ' ' : text[i];
  }
  if (place.offset >= to)
    caret = shown.size();
  if (!isUtf8(shown)) {
    shown = escaped(shown);
    caret = 0;
  }
  throw Error(ErrorKind::InvalidFile, place.text() + ": " + message + "\n  " + shown + "\n  " +
                                          std::string(caret, ' ') + "^");
}

} // namespace headrace::rewrite
