#ifndef TRIVIUM_TESTS_MODEL_WEIGHTS_ZIP_FILES_H_
#define TRIVIUM_TESTS_MODEL_WEIGHTS_ZIP_FILES_H_

#include <fmt/format.h>
#include <zip.h>

#include <string>
#include <vector>

#include "tests/model/weights/weight_files.h"

namespace trivium {

// Builds zip archives and NumPy arrays byte by byte, valid and broken.

struct ZipEntry {
  std::string name;
  std::string data;
  bool compressed = false;
};

inline std::string Zip(const std::vector<ZipEntry>& entries) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/archive";
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const ZipEntry& entry : entries) {
    zip_source_t* source =
        zip_source_buffer(archive, entry.data.data(), entry.data.size(), 0);
    const zip_int64_t index =
        zip_file_add(archive, entry.name.c_str(), source, 0);
    zip_set_file_compression(
        archive, index, entry.compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  zip_close(archive);
  return ReadWholeFile(path);
}

// Returns an array with the given header.
inline std::string Npy(const std::string& header, std::string_view data) {
  return "\x93NUMPY\x01" + std::string(1, '\0') +
         LittleEndian(header.size(), 2) + header + std::string(data);
}
inline std::string Npy(const std::string& type,
                       const std::vector<int64_t>& shape,
                       std::string_view data) {
  std::string sizes;
  for (const int64_t size : shape) sizes += fmt::format("{}, ", size);
  return Npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': "
                         "({}), }}\n",
                         type, sizes),
             data);
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_WEIGHTS_ZIP_FILES_H_
