#include "image/formats/Formats.h"

namespace headrace::image {

namespace {

bool isBlank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isDigit(uint8_t c) { return c >= '0' && c <= '9'; }

/// Numbers as text, and comments between them.
class Scanner {
public:
  Scanner(Bytes file, size_t at) : file(file), at(at) {}

  /// The next number; -1 if there is none, or if it is too large for any use.
  int64_t number() {
    skipBlanks();
    int64_t result = -1;
    for (; at < file.size() && isDigit(file[at]); ++at) {
      result = (result < 0 ? 0 : result) * 10 + (file[at] - '0');
      if (result > kMaxPixels)
        return -1;
    }
    return result;
  }

  /// A digit that may touch the next one.
  int64_t bit() {
    skipBlanks();
    bool isBit = at < file.size() && (file[at] == '0' || file[at] == '1');
    return isBit ? file[at++] - '0' : -1;
  }

  /// The bytes behind the one blank that ends the header.
  Bytes rest() const {
    bool ended = at < file.size() && isBlank(file[at]);
    return ended ? file.subspan(at + 1) : Bytes();
  }

private:
  void skipBlanks() {
    for (bool inComment = false; at < file.size(); ++at) {
      if (file[at] == '#')
        inComment = true;
      else if (file[at] == '\n' || file[at] == '\r')
        inComment = false;
      else if (!inComment && !isBlank(file[at]))
        return;
    }
  }

  Bytes file;
  size_t at;
};

struct Header {
  int64_t width, height, most;
  bool isText, isOfBits;
  int64_t channels;
};

uint8_t toByte(int64_t value, int64_t most) {
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

/// Reads samples one by one; -1 if there are no more, or if one is out of range.
class Samples {
public:
  Samples(const Header &header, Scanner scanner)
      : header(header), scanner(scanner), data(scanner.rest()) {}

  /// Whether the file can be long enough for this many samples.
  bool canBe(int64_t rows, int64_t perRow) const {
    int64_t size = static_cast<int64_t>(data.size()) + (header.isText ? 1 : 0);
    int64_t rowBytes = header.isText     ? perRow
                       : header.isOfBits ? (perRow + 7) / 8
                                         : perRow * (header.most > 255 ? 2 : 1);
    return rowBytes <= size / rows;
  }

  int64_t next(int64_t column) {
    int64_t value = header.isText ? nextText() : nextByte(column);
    return value > header.most ? -1 : value;
  }

private:
  int64_t nextText() { return header.isOfBits ? scanner.bit() : scanner.number(); }

  int64_t nextByte(int64_t column) {
    if (header.isOfBits) { // rows begin with a new byte
      at += column % 8 == 0;
      return data[at - 1] >> (7 - column % 8) & 1;
    }
    int64_t value = data[at++];
    return header.most > 255 ? value << 8 | data[at++] : value;
  }

  const Header &header;
  Scanner scanner;
  Bytes data;
  size_t at = 0;
};

} // namespace

std::optional<Picture> decodePortableMap(Bytes file) {
  uint8_t kind = file[1];
  Scanner scanner(file, 2);
  Header header{};
  header.isText = kind <= '3';
  header.isOfBits = kind == '1' || kind == '4';
  header.channels = kind == '3' || kind == '6' ? 3 : 1;
  header.width = scanner.number();
  header.height = scanner.number();
  header.most = header.isOfBits ? 1 : scanner.number();
  if (header.width <= 0 || header.height <= 0 || header.most <= 0 || header.most > 65535)
    return std::nullopt;
  Samples samples(header, scanner);
  if (!samples.canBe(header.height, header.width * header.channels))
    return std::nullopt;
  Picture result(header.height, header.width);
  uint8_t *out = result.rgb.data();
  for (int64_t y = 0; y < header.height; ++y)
    for (int64_t x = 0; x < header.width; ++x, out += 3)
      for (int64_t c = 0; c < 3; ++c) {
        if (c >= header.channels) {
          out[c] = out[0];
          continue;
        }
        int64_t sample = samples.next(x);
        if (sample < 0)
          return std::nullopt;
        // A set bit is ink.
        out[c] = toByte(header.isOfBits ? 1 - sample : sample, header.most);
      }
  return result;
}

} // namespace headrace::image
