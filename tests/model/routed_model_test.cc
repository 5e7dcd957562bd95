#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "model/model.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

TEST(RoutedModelTest, EmbeddingsOfQueriesAndDocumentsHaveOneSize) {
  const TemporaryFolder folder;
  const std::string router = folder.path() + "/router";
  const std::string document = router + "/document_0_Transformer";
  std::filesystem::copy("tests/golden/retrieval/dense.router", router,
                        std::filesystem::copy_options::recursive);
  ASSERT_TRUE(Model::Load(router, {}).ok());

  for (const char* file : {"/config.json", "/model.safetensors"}) {
    std::filesystem::copy("tests/golden/bert.relu" + std::string(file),
                          document + file,
                          std::filesystem::copy_options::overwrite_existing);
  }
  folder.Remove("router/document_0_Transformer/tokenizer.json");
  folder.Remove("router/document_0_Transformer/tokenizer_config.json");
  folder.Write("router/document_1_Pooling/config.json",
               R"({"embedding_dimension": 44, "pooling_mode": "mean"})");
  EXPECT_THAT(Model::Load(router, {}).status(),
              IsError(absl::StatusCode::kInvalidArgument, "router"));
}

}  // namespace
}  // namespace trivium
