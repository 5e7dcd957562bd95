// hardened_probe index|buffer N: reads element N of a vector of 8, or copies N
// bytes into a buffer of 8. Built as a release is it ends where N is too large.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto count = static_cast<size_t>(std::atoi(argv[2]));
  if (std::strcmp(argv[1], "index") == 0) {
    const std::vector<int> numbers(8, 1);
    std::printf("%d\n", numbers[count]);
  } else {
    const std::string source(count, 'x');
    char buffer[8];
    std::memcpy(buffer, source.data(), count);
    std::printf("%c\n", buffer[0]);
  }
  return 0;
}
