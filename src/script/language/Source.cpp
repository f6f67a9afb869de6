#include "script/language/Source.h"

#include "runtime/system/MappedFile.h"

#include <algorithm>

namespace headrace::script {

constexpr size_t kMaximumBytes = size_t{16} << 20;
/// How much of a long line a message shows on each side of its caret.
constexpr size_t kExcerpt = 60;
/// Messages quote names, and a name may be as long as the script.
constexpr size_t kLongestMessage = 500;

static bool continuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

static void checkSize(const std::string &name, size_t bytes) {
  if (bytes > kMaximumBytes)
    throw Error(ErrorKind::InvalidScript, name + ": expected a script of at most " +
                                              std::to_string(kMaximumBytes) + " bytes, got " +
                                              std::to_string(bytes));
}

Source::Source(std::string name, std::string text)
    : fileName(std::move(name)), contents(std::move(text)) {
  checkSize(fileName, contents.size());
  if (size_t zero = contents.find('\0'); zero != std::string::npos)
    throw Error(ErrorKind::InvalidScript,
                fileName + ": expected a script, got a zero byte at byte " + std::to_string(zero));
  lineStarts.push_back(0);
  for (size_t i = 0; i < contents.size(); ++i)
    if (contents[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

Source Source::read(const std::filesystem::path &path) {
  auto file = MappedFile::open(path);
  checkSize(path.string(), file->size());
  return Source(path.string(),
                std::string(reinterpret_cast<const char *>(file->data()), file->size()));
}

size_t Source::line(uint32_t offset) const {
  auto after = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  return static_cast<size_t>(after - lineStarts.begin());
}

size_t Source::column(uint32_t offset) const {
  size_t column = 1;
  for (size_t i = lineStarts[line(offset) - 1]; i < offset && i < contents.size(); ++i)
    column += !continuesCharacter(contents[i]);
  return column;
}

std::string_view Source::lineText(size_t line) const {
  size_t begin = lineStarts[line - 1];
  size_t end = line < lineStarts.size() ? lineStarts[line] - 1 : contents.size();
  if (end > begin && contents[end - 1] == '\r')
    --end;
  return text().substr(begin, end - begin);
}

std::string SourceLocation::text() const {
  return source->name() + ":" + std::to_string(source->line(offset)) + ":" +
         std::to_string(source->column(offset));
}

std::string describe(SourceLocation place, const std::string &message) {
  size_t line = place.source->line(place.offset);
  std::string_view text = place.source->lineText(line);
  auto lineStart = static_cast<size_t>(text.data() - place.source->text().data());
  size_t caret = std::min<size_t>(place.offset - lineStart, text.size());
  size_t begin = caret > kExcerpt ? caret - kExcerpt : 0;
  size_t end = std::min(text.size(), caret + kExcerpt);
  while (begin > 0 && begin < text.size() && continuesCharacter(text[begin]))
    --begin;
  while (end < text.size() && continuesCharacter(text[end]))
    ++end;

  std::string shown = begin > 0 ? "..." : "";
  std::string indent(shown.size(), ' ');
  for (size_t i = begin; i < end; ++i) {
    // Control characters would garble a terminal; a tab moves text and caret alike.
    bool control = static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7F;
    shown += control && text[i] != '\t' ? '?' : text[i];
    if (i < caret && !continuesCharacter(text[i]))
      indent += text[i] == '\t' ? '\t' : ' ';
  }
  if (end < text.size())
    shown += "...";
  bool cut = message.size() > kLongestMessage;
  std::string said = cut ? message.substr(0, kLongestMessage) + "..." : message;
  return place.text() + ": " + said + "\n  " + shown + "\n  " + indent + "^";
}

void fail(SourceLocation place, const std::string &message, ErrorKind kind) {
  throw Error(kind, describe(place, message));
}

} // namespace headrace::script
