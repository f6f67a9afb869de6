#include "runtime/system/BuildId.h"

#include <cstring>
#include <elf.h>
#include <link.h>
#include <vector>

namespace headrace {
namespace {

bool holds(const dl_phdr_info &file, const void *address) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = file.dlpi_phdr[i];
    uintptr_t begin = file.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && wanted >= begin && wanted - begin < part.p_memsz)
      return true;
  }
  return false;
}

/// A segment of notes: each is a header, a name and contents, padded to 4 bytes.
std::string idInNotes(const char *at, size_t bytes) {
  const char *end = at + bytes;
  while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char *name = at + sizeof note, *contents = name + (note.n_namesz + 3) / 4 * 4;
    const char *next = contents + (note.n_descsz + 3) / 4 * 4;
    if (next > end)
      return "";
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) ==
                                              std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU))
      return {contents, note.n_descsz};
    at = next;
  }
  return "";
}

std::string idOf(const dl_phdr_info &file) {
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = file.dlpi_phdr[i];
    if (part.p_type != PT_NOTE)
      continue;
    auto *notes = reinterpret_cast<const char *>(file.dlpi_addr + part.p_vaddr);
    if (std::string id = idInNotes(notes, part.p_memsz); !id.empty())
      return id;
  }
  return "";
}

struct Search {
  const void *address;
  std::vector<std::string_view> libraries;
  std::string ids;
  bool isComplete = true;
};

int visit(dl_phdr_info *file, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  bool isWanted = holds(*file, search.address);
  for (std::string_view library : search.libraries)
    isWanted |= std::string_view(file->dlpi_name).find(library) != std::string_view::npos;
  if (!isWanted)
    return 0;
  std::string id = idOf(*file);
  search.isComplete &= !id.empty();
  search.ids += id;
  return 0;
}

} // namespace

std::string buildId(const void *address, std::initializer_list<std::string_view> libraries) {
  Search search{address, libraries, {}};
  dl_iterate_phdr(visit, &search);
  return search.isComplete ? search.ids : "";
}

} // namespace headrace
