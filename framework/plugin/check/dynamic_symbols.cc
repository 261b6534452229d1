#include "framework/plugin/check/dynamic_symbols.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace millstream::plugin_check {
namespace {

// A struct of the file; false when it ends before.
template <typename T>
bool ReadAt(const std::string& bytes, uint64_t offset, T* out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(out, bytes.data() + offset, sizeof(T));
  return true;
}

bool ReadSection(const std::string& bytes, const Elf64_Ehdr& header, uint64_t index,
                 Elf64_Shdr* section) {
  return index < header.e_shnum &&
         ReadAt(bytes, header.e_shoff + index * sizeof(Elf64_Shdr), section);
}

std::string TextAt(const std::string& bytes, uint64_t offset) {
  if (offset >= bytes.size()) return "";
  return bytes.substr(offset, bytes.find('\0', offset) - offset);
}

}  // namespace

StatusOr<std::vector<DynamicSymbol>> ReadDynamicSymbols(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Elf64_Ehdr header;
  Elf64_Shdr table = {};
  Elf64_Shdr strings = {};
  bool found = false;
  if (ReadAt(bytes, 0, &header)) {
    for (uint64_t i = 0; i < header.e_shnum && !found; ++i) {
      found = ReadSection(bytes, header, i, &table) && table.sh_type == SHT_DYNSYM &&
              ReadSection(bytes, header, table.sh_link, &strings);
    }
  }
  if (!found) return errors::InvalidArgument("the file has no sections that could be read");
  std::vector<DynamicSymbol> symbols;
  for (uint64_t at = sizeof(Elf64_Sym); at < table.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    if (!ReadAt(bytes, table.sh_offset + at, &symbol)) break;
    // The names of versions are absolute.
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_ABS) continue;
    symbols.push_back(
        {TextAt(bytes, strings.sh_offset + symbol.st_name), symbol.st_shndx != SHN_UNDEF});
  }
  return symbols;
}

}  // namespace millstream::plugin_check
