#ifndef TRIVIUM_TESTS_INTEGRATION_CHAT_FOLDER_H_
#define TRIVIUM_TESTS_INTEGRATION_CHAT_FOLDER_H_

#include <filesystem>
#include <fstream>

#include "nlohmann/json.hpp"

namespace trivium {

inline constexpr char kChats[] = "tests/integration/chats";

// Makes the folder of a tiny Qwen 3 that takes chats: a golden's weights, with
// room for longer prompts.
inline void MakeChatFolder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path golden = "tests/golden/qwen3.lm";
  fs::create_directories(folder);
  for (const char* file : {"generation_config.json", "model.safetensors"}) {
    fs::copy_file(golden / file, folder / file);
  }
  for (const char* file : {"tokenizer.json", "chat_template.jinja"}) {
    fs::copy_file(fs::path(kChats) / file, folder / file);
  }
  std::ifstream file(golden / "config.json");
  nlohmann::json config = nlohmann::json::parse(file);
  config["max_position_embeddings"] = 1024;
  std::ofstream(folder / "config.json") << config;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_CHAT_FOLDER_H_
