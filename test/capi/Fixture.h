// A test package for tests that see the public interface only.
#pragma once

#include <memory>
#include <string>
#include <vector>

class TestPackageFile {
public:
  TestPackageFile();
  ~TestPackageFile();
  std::string path() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// A package whose program returns its numbers, i64 [n], once they were found to be divisors (not
/// 0) and indices of a tensor of 5 elements.
class CheckedPackageFile {
public:
  CheckedPackageFile();
  ~CheckedPackageFile();
  std::string path() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

std::vector<float> expectedValues(const std::vector<float> &x);
