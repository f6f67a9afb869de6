#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace headrace::script {

/// The variables of one function, numbered in the order they are first met.
class VariableNumbers {
public:
  size_t of(const std::string &name) {
    auto [entry, isNew] = numbers.try_emplace(name, names.size());
    if (isNew)
      names.push_back(name);
    return entry->second;
  }
  const std::string &name(size_t number) const { return names[number]; }
  size_t size() const { return names.size(); }

private:
  std::unordered_map<std::string, size_t> numbers;
  std::vector<std::string> names;
};

/// A set of numbered variables.
class VariableSet {
public:
  bool contains(size_t number) const {
    return number / 64 < words.size() && (words[number / 64] >> (number % 64) & 1);
  }
  void insert(size_t number) {
    if (number / 64 >= words.size())
      words.resize(number / 64 + 1);
    words[number / 64] |= uint64_t{1} << (number % 64);
  }
  void erase(size_t number) {
    if (number / 64 < words.size())
      words[number / 64] &= ~(uint64_t{1} << (number % 64));
  }
  void insertAll(const VariableSet &other) {
    if (words.size() < other.words.size())
      words.resize(other.words.size());
    for (size_t i = 0; i < other.words.size(); ++i)
      words[i] |= other.words[i];
  }

private:
  std::vector<uint64_t> words;
};

} // namespace headrace::script
