// Tests encoders with vocabularies, with a real server.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "tests/integration/good_calls.h"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

class HeadModelsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = testing::TempDir() + "/head_models.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    server_ = new ServerProcess(HeadModels(folder));
    std::filesystem::remove_all(folder);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* HeadModelsTest::server_ = nullptr;

TEST_F(HeadModelsTest, TokenizesPairsWithTheTextOfEachToken) {
  v1::TokenizeRequest request;
  request.set_model("bert.classify");
  request.add_pairs()->set_first("ab");
  request.mutable_pairs(0)->set_second("c");
  const auto response = client_->Tokenize(request);
  ASSERT_TRUE(response.ok()) << response.status();
  std::string told;
  for (const v1::Token& token : response->results(0).tokens()) {
    told += token.piece() + ":" + std::to_string(token.type_id()) +
            (token.has_sequence() ? std::to_string(token.sequence()) : "-") +
            " ";
  }
  EXPECT_EQ(told, "[CLS]:0- a:00 ##b:00 [SEP]:0- c:11 [SEP]:1- ");
  request.add_texts("ab");
  EXPECT_THAT(client_->Tokenize(request),
              IsError(absl::StatusCode::kInvalidArgument, "pairs"));
}

// Models without languages refuse them instead of ignoring them.
TEST_F(HeadModelsTest, RefusesLanguagesForEncoders) {
  for (const bool source : {true, false}) {
    v1::EncodeRequest request;
    request.set_model("bert.tag");
    request.add_inputs()->set_text("ab");
    if (source) {
      request.set_source_language("en");
    } else {
      request.set_target_language("de");
    }
    EXPECT_THAT(client_->Encode(request),
                IsError(absl::StatusCode::kInvalidArgument,
                        source ? "source_language" : "target_language"));
  }
}

}  // namespace
}  // namespace trivium
