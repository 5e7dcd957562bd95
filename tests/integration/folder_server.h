#ifndef TRIVIUM_TESTS_INTEGRATION_FOLDER_SERVER_H_
#define TRIVIUM_TESTS_INTEGRATION_FOLDER_SERVER_H_

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/client.h"
#include "gtest/gtest.h"
#include "tests/integration/server_process.h"

namespace trivium {

// A server of models in folders that a test makes. It deletes them at its end.
class FolderServer {
 public:
  // `make` fills a new folder and returns the server's flags.
  using Make = std::function<std::vector<std::string>(
      const std::filesystem::path& folder)>;
  FolderServer(const std::string& name, const Make& make)
      : folder_(std::filesystem::temp_directory_path() /
                (name + "." + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    server_ = std::make_unique<ServerProcess>(make(folder_));
  }
  ~FolderServer() {
    EXPECT_TRUE(server_->running()) << "the server died";
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  const std::filesystem::path& folder() const { return folder_; }
  ServerProcess* operator->() const { return server_.get(); }

 private:
  const std::filesystem::path folder_;
  std::unique_ptr<ServerProcess> server_;
};

// The result of a Generate call, with its pieces joined.
struct WholeAnswer {
  absl::Status status;
  std::string text;
  std::vector<uint32_t> ids;
  v1::GenerateResponse::Done done;
};

inline WholeAnswer GenerateWhole(Client& client,
                                 const v1::GenerateRequest& request) {
  WholeAnswer answer;
  answer.status =
      client.Generate(request, [&](const v1::GenerateResponse& response) {
        answer.text += response.piece().text();
        answer.ids.insert(answer.ids.end(), response.piece().ids().begin(),
                          response.piece().ids().end());
        if (response.has_done()) answer.done = response.done();
        return absl::OkStatus();
      });
  return answer;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_FOLDER_SERVER_H_
