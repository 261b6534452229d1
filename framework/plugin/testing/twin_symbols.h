// Symbols that two plugins and their host all define: globals, inline variables, statics of
// functions and templates, and a library of which each brings a copy. The copies register in a
// registry that, like those of message libraries, takes each name once. None of it is hidden by its
// own declaration.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_TWIN_SYMBOLS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_TWIN_SYMBOLS_H_

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#define TWIN_VISIBLE __attribute__((visibility("default")))

namespace twin_library {

// A library that everybody bundles.
class TWIN_VISIBLE Registry {
 public:
  static Registry& Global() {
    static Registry registry;
    return registry;
  }
  // Like the registries of generated messages: the same name twice ends the process.
  void Add(const std::string& name, int owner) {
    if (!owners_.emplace(name, owner).second) std::abort();
  }
  int OwnerOf(const std::string& name) const { return owners_.at(name); }
  size_t size() const { return owners_.size(); }

 private:
  std::map<std::string, int> owners_;
};

class TWIN_VISIBLE Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

TWIN_VISIBLE inline int inline_variable = 0;

template <typename T>
TWIN_VISIBLE T& StaticOf() {
  static T value = 0;
  return value;
}

}  // namespace twin_library

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_TESTING_TWIN_SYMBOLS_H_
