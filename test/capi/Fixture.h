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

std::vector<float> expectedValues(const std::vector<float> &x);
