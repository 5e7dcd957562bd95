#ifndef TRIVIUM_TESTS_NO_MEMORY_SYMBOLS_H_
#define TRIVIUM_TESTS_NO_MEMORY_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace trivium {

// The functions of this program, static ones too, from its symbol table.
class Symbols {
 public:
  Symbols();
  // The mangled name of the function with this return address; null if it is
  // in no function of the program itself. Allocates nothing.
  const char* Find(const void* address) const;

 private:
  struct Function {
    uintptr_t begin, end;
    const char* name;
  };
  std::string file_;
  std::vector<Function> functions_;  // ascending
};

// `name` as in the source.
std::string Demangle(const char* name);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_NO_MEMORY_SYMBOLS_H_
