#ifndef TRIVIUM_TESTS_INTEGRATION_GOLDEN_VALUES_H_
#define TRIVIUM_TESTS_INTEGRATION_GOLDEN_VALUES_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Golden folders, as a client of the API sees them.
inline constexpr char kGoldens[] = "tests/golden/";

// Returns run `i` of a golden as an input of ids, since the models have no
// tokenizers.
inline v1::Input GoldenInput(const std::string& golden, int i) {
  std::ifstream file(kGoldens + golden + "/golden.json");
  const auto run = nlohmann::json::parse(file).at("runs").at(i);
  v1::Input input;
  for (const uint32_t id : run.at("input_ids")) {
    input.mutable_ids()->add_ids(id);
  }
  if (run.contains("token_type_ids")) {
    for (const uint32_t type : run.at("token_type_ids")) {
      input.mutable_ids()->add_type_ids(type);
    }
  }
  return input;
}

// Returns a tensor of the golden's file.
inline std::vector<float> GoldenTensor(const std::string& golden,
                                       const std::string& name) {
  std::ifstream file(kGoldens + golden + "/golden.safetensors",
                     std::ios::binary);
  uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof(size));
  std::string header(size, ' ');
  file.read(header.data(), static_cast<std::streamsize>(size));
  const auto entry = nlohmann::json::parse(header).at(name);
  const uint64_t begin = entry.at("data_offsets").at(0);
  const uint64_t end = entry.at("data_offsets").at(1);
  std::vector<float> values((end - begin) / sizeof(float));
  file.seekg(static_cast<std::streamoff>(8 + size + begin));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(end - begin));
  return values;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_GOLDEN_VALUES_H_
