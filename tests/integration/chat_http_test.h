#ifndef TRIVIUM_TESTS_INTEGRATION_CHAT_HTTP_TEST_H_
#define TRIVIUM_TESTS_INTEGRATION_CHAT_HTTP_TEST_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_folder.h"
#include "tests/integration/folder_server.h"
#include "tests/support/http_get.h"

namespace trivium {

// A suite whose server is asked over HTTP. Its last model is `chat`, of
// MakeChatFolder:
//
//   static void SetUpTestSuite() { Start("name", {}); }
class ChatHttpTest : public testing::Test {
 protected:
  // `more` fills the folder with more models and returns the flags of them;
  // null: there are none.
  static void Start(const std::string& name, const FolderServer::Make& more,
                    const std::vector<std::string>& flags = {}) {
    server_ = new FolderServer(name, [&](const std::filesystem::path& folder) {
      std::vector<std::string> all;
      if (more) all = more(folder);
      MakeChatFolder(folder / "chat");
      all.insert(all.end(), {"--http-listen", "127.0.0.1:0", "--precision",
                             "f32", "--model", (folder / "chat").string()});
      all.insert(all.end(), flags.begin(), flags.end());
      return all;
    });
  }
  static void TearDownTestSuite() { delete server_; }

  static HttpResult Send(
      const std::string& path, const nlohmann::json& body,
      const std::string& headers = "Content-Type: application/json\r\n") {
    return HttpPost((*server_)->http_port(), path, body.dump(), headers);
  }
  static nlohmann::json Post(const std::string& path,
                             const nlohmann::json& body) {
    const HttpResult answer = Send(path, body);
    EXPECT_EQ(answer.status, 200) << path << body << answer.body;
    return nlohmann::json::parse(answer.body, nullptr, false);
  }
  static nlohmann::json Refusal(const std::string& path,
                                const nlohmann::json& body, int status = 400) {
    const HttpResult answer = Send(path, body);
    EXPECT_EQ(answer.status, status) << path << body << answer.body;
    return nlohmann::json::parse(answer.body, nullptr, false);
  }

  static inline FolderServer* server_ = nullptr;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_CHAT_HTTP_TEST_H_
