#ifndef TRIVIUM_CLIENT_COMMANDS_NPZ_H_
#define TRIVIUM_CLIENT_COMMANDS_NPZ_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace trivium {

// Writes arrays to a file that numpy.load() reads: an uncompressed zip archive
// of .npy entries.
//
//   NpzWriter npz;
//   npz.Add("weights", {2, 3}, six_floats);
//   npz.Write("file.npz")
class NpzWriter {
 public:
  // Adds an array of any number of axes, row-major.
  void Add(const std::string& name, const std::vector<size_t>& shape,
           const std::vector<float>& values);
  void Add(const std::string& name, const std::vector<uint32_t>& values);
  // Adds UTF-8 texts as an array of numpy strings.
  void Add(const std::string& name, const std::vector<std::string>& values);

  // Writes the file, replacing an old one. On failure no file is left behind.
  absl::Status Write(const std::string& path) const;

 private:
  struct Entry {
    std::string name, bytes;
  };
  void AddEntry(const std::string& name, const std::string& type,
                const std::vector<size_t>& shape, const std::string& values);

  std::vector<Entry> entries_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_NPZ_H_
