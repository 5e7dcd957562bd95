#ifndef TRIVIUM_TESTS_FUZZ_FOLDER_MUTATIONS_H_
#define TRIVIUM_TESTS_FUZZ_FOLDER_MUTATIONS_H_

#include <random>
#include <string>

namespace trivium {

using Random = std::mt19937;

// Spoils one file of a folder as damage, haste or malice do: bytes, length,
// what kind of file it is, and, where it is JSON or has a header of JSON, its
// values, nesting and sizes. The file may be a link; what it points at stays as
// it is. Returns what was done, in words.
std::string SpoilFile(const std::string& path, Random* random);

// Changes, cuts, repeats or removes some bytes. Returns what was done.
std::string SpoilBytes(std::string* bytes, Random* random);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_FUZZ_FOLDER_MUTATIONS_H_
