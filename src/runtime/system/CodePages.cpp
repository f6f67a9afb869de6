#include "runtime/system/CodePages.h"

#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <link.h>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace headrace {
namespace {

/// Whole pages of the process's memory.
struct PageRange {
  uintptr_t begin, end;
};

uintptr_t pageBytes() {
  static const auto bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

struct Search {
  std::span<const std::string_view> names;
  uintptr_t own; // an address in this library
  std::vector<PageRange> code;
};

bool holds(const dl_phdr_info &library, uintptr_t address) {
  std::span segments(library.dlpi_phdr, library.dlpi_phnum);
  return std::ranges::any_of(segments, [&](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD &&
           address - library.dlpi_addr - segment.p_vaddr < segment.p_memsz;
  });
}

int addCode(dl_phdr_info *library, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  std::string_view file(library->dlpi_name ? library->dlpi_name : "");
  file.remove_prefix(file.rfind('/') + 1);
  bool named = std::ranges::any_of(search.names,
                                   [&](std::string_view name) { return file.starts_with(name); });
  if (!named && !holds(*library, search.own))
    return 0;
  for (const ElfW(Phdr) & segment : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || (segment.p_flags & PF_W))
      continue;
    uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    uintptr_t end = begin + segment.p_filesz + pageBytes() - 1;
    search.code.push_back({begin / pageBytes() * pageBytes(), end / pageBytes() * pageBytes()});
  }
  return 0;
}

/// Whether every page of the range that there is is the file's own, so that dropping it loses
/// nothing.
bool equalsFile(int pageMap, PageRange range) {
  constexpr uint64_t present = uint64_t{1} << 63, swapped = uint64_t{1} << 62,
                     ofFile = uint64_t{1} << 61;
  std::vector<uint64_t> pages(4096);
  for (uintptr_t page = range.begin / pageBytes(); page < range.end / pageBytes();) {
    size_t count = std::min<size_t>(pages.size(), range.end / pageBytes() - page);
    ssize_t got = ::pread(pageMap, pages.data(), count * sizeof(uint64_t),
                          static_cast<off_t>(page * sizeof(uint64_t)));
    if (got < static_cast<ssize_t>(sizeof(uint64_t)))
      return false;
    size_t read = static_cast<size_t>(got) / sizeof(uint64_t);
    if (std::any_of(
            pages.begin(), pages.begin() + static_cast<ptrdiff_t>(read),
            [](uint64_t entry) { return (entry & (present | swapped)) && !(entry & ofFile); }))
      return false;
    page += read;
  }
  return true;
}

} // namespace

void returnCodePages(std::span<const std::string_view> names) {
  Search search{names, reinterpret_cast<uintptr_t>(&returnCodePages), {}};
  ::dl_iterate_phdr(addCode, &search);
  int pageMap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pageMap < 0)
    return;
  for (PageRange range : search.code)
    if (equalsFile(pageMap, range))
      ::madvise(reinterpret_cast<void *>(range.begin), range.end - range.begin, MADV_DONTNEED);
  ::close(pageMap);
}

} // namespace headrace
