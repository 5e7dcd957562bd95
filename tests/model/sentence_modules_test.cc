#include "model/sentence_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

class SentenceModulesTest : public ::testing::Test {
 protected:
  // Returns the modules of a list as "TYPE at PATH".
  std::vector<std::string> Names(const ModuleList& list) {
    std::vector<std::string> names;
    for (const auto& [type, folder] : list) {
      names.push_back(type + " at " +
                      (folder == folder_.path()
                           ? "."
                           : folder.substr(folder_.path().size() + 1)));
    }
    return names;
  }
  absl::Status Problem() {
    return ReadSentenceModules(folder_.path()).status();
  }
  void WriteRouter(const std::string& router) {
    folder_.Write("modules.json",
                  R"([{"path": "", "type": "a.router.Router"},
                      {"path": "1_Normalize", "type": "a.Normalize"}])");
    folder_.Write("router_config.json", router);
  }

  const TemporaryFolder folder_;
};

TEST_F(SentenceModulesTest, ReadsOneList) {
  EXPECT_EQ(Problem().code(), StatusCode::kNotFound);
  folder_.Write("modules.json",
                R"([{"path": "", "type": "a.b.Transformer"},
                    {"path": "1_Pooling", "type": "Pooling"}])");
  const auto modules = ReadSentenceModules(folder_.path());
  ASSERT_TRUE(modules.ok()) << modules.status();
  ASSERT_EQ(modules->lists.size(), 1u);
  EXPECT_THAT(Names(modules->lists[0]),
              ElementsAre("Transformer at .", "Pooling at 1_Pooling"));
  EXPECT_EQ(modules->query, 0);
  EXPECT_EQ(modules->document, 0);
  EXPECT_FALSE(ReadsTable(modules->lists[0]));
}

TEST_F(SentenceModulesTest, ARouterHasAListForEachKindOfText) {
  WriteRouter(R"({
    "types": {"q_0": "a.StaticEmbedding", "d_0": "a.Transformer",
              "d_1": "a.Pooling"},
    "structure": {"query": ["q_0"], "document": ["d_0", "d_1"]},
    "parameters": {"default_route": "document", "route_mappings": {}}})");
  const auto modules = ReadSentenceModules(folder_.path());
  ASSERT_TRUE(modules.ok()) << modules.status();
  ASSERT_EQ(modules->lists.size(), 2u);
  EXPECT_EQ(modules->document, 0) << "the default comes first";
  EXPECT_EQ(modules->query, 1);
  EXPECT_THAT(Names(modules->lists[0]),
              ElementsAre("Transformer at d_0", "Pooling at d_1",
                          "Normalize at 1_Normalize"));
  EXPECT_THAT(
      Names(modules->lists[1]),
      ElementsAre("StaticEmbedding at q_0", "Normalize at 1_Normalize"));
  EXPECT_TRUE(ReadsTable(modules->lists[1]));
}

TEST_F(SentenceModulesTest, ErrorsNameWhatIsWrong) {
  const auto expect = [&](const std::string& router, const char* place) {
    WriteRouter(router);
    EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, place))
        << router;
  };
  expect("{}", "default_route");
  const std::string parameters = R"("parameters": {"default_route": "query"})";
  expect("{" + parameters + "}", "query");
  expect("{" + parameters + R"(, "structure": {"query": [7]}})",
         "structure.query");
  expect("{" + parameters + R"(, "structure": {"query": ["q"]}})",
         "structure.query");
  expect("{" + parameters + R"(, "structure": {"query": ["q"]},
                                 "types": {"q": "a.StaticEmbedding"}})",
         "document");
  expect("{" + parameters + R"(, "structure": {"query": ["../q"]},
                                 "types": {"../q": "a.StaticEmbedding"}})",
         "../q");
  expect(R"({"parameters": {"default_route": "query",
                            "route_mappings": {"x": "query"}}})",
         "route_mappings");
  WriteRouter("[]");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "router_config.json"));
  std::string many;
  for (int i = 0; i < 17; ++i) {
    many += R"({"path": "", "type": "a.Normalize"},)";
  }
  many.pop_back();
  folder_.Write("modules.json", "[" + many + "]");
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "17"));
}

}  // namespace
}  // namespace trivium
