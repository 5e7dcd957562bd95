#include "model/sentence_modules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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
  EXPECT_TRUE(modules->routed);
}

TEST_F(SentenceModulesTest, ARouterMayComeAfterModulesOfAllTexts) {
  folder_.Write("modules.json", R"([{"path": "", "type": "a.Transformer"},
                                    {"path": "1_R", "type": "a.Router"}])");
  std::filesystem::create_directory(folder_.path() + "/1_R");
  folder_.Write("1_R/router_config.json",
                R"({"types": {"q": "a.Dense"},
                    "structure": {"query": ["q"], "document": []}})");
  const auto modules = ReadSentenceModules(folder_.path());
  ASSERT_TRUE(modules.ok()) << modules.status();
  ASSERT_EQ(modules->lists.size(), 2u);
  EXPECT_EQ(modules->document, 0) << "without a default_route";
  EXPECT_THAT(Names(modules->lists[0]), ElementsAre("Transformer at ."));
  EXPECT_THAT(Names(modules->lists[1]),
              ElementsAre("Transformer at .", "Dense at 1_R/q"));
}

TEST_F(SentenceModulesTest, RoutesAreFoundByMappingsThenNamesThenTheDefault) {
  const auto first_of = [&](const std::string& routes,
                            const std::string& parameters) {
    std::string structure, types;
    for (const char c : routes) {
      structure +=
          fmt::format(R"({}"{}": ["{}"])", structure.empty() ? "" : ",",
                      c == 'q'   ? "query"
                      : c == 'd' ? "document"
                      : c == 't' ? "text"
                                 : std::string(1, c),
                      c);
      types += fmt::format(R"({}"{}": "a.Transformer")",
                           types.empty() ? "" : ",", c);
    }
    WriteRouter(fmt::format(
        R"({{"types": {{{}}}, "structure": {{{}}}, "parameters": {{{}}}}})",
        types, structure, parameters));
    const auto modules = ReadSentenceModules(folder_.path());
    if (!modules.ok()) return std::string(modules.status().message());
    std::string found;
    for (const int list : {0, modules->query, modules->document}) {
      found += Names(modules->lists[list]).front().back();
    }
    return found;
  };
  // The lists of texts without a kind, of queries and of documents.
  EXPECT_EQ(first_of("qdx", R"("default_route": "x")"), "xqd");
  EXPECT_EQ(first_of("qd", R"("default_route": null)"), "dqd");
  EXPECT_EQ(first_of("t", ""), "ttt");
  EXPECT_EQ(first_of("qt", ""), "tqt");
  EXPECT_EQ(first_of("q", R"("default_route": "query")"), "qqq");
  EXPECT_EQ(first_of("abx", R"j("default_route": "x", "route_mappings":
                {"('query', 'text')": "a", "('document', None)": "b",
                 "(None, 'image')": "a"})j"),
            "xab");
  EXPECT_EQ(first_of("qdab", R"j("route_mappings":
                {"(None, 'text')": "a", "('query', None)": "b"})j"),
            "aba");
  EXPECT_EQ(first_of("qda", R"j("route_mappings": {"(None, None)": "a"})j"),
            "aaa");
}

TEST_F(SentenceModulesTest, ErrorsNameWhatIsWrong) {
  const auto expect = [&](const std::string& router, const char* place) {
    WriteRouter(router);
    EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, place))
        << router;
  };
  expect("{}", "default_route");
  expect(R"({"structure": {"query": ["q"]}})", "for texts");
  const std::string parameters = R"("parameters": {"default_route": "query"})";
  expect("{" + parameters + R"(, "structure": {"query": [7]}})",
         "structure.query");
  expect("{" + parameters + R"(, "structure": {"query": ["q"]}})",
         "structure.query");
  expect("{" + parameters + R"(, "structure": {"query": ["../q"]},
                                 "types": {"../q": "a.StaticEmbedding"}})",
         "../q");
  expect(R"j({"structure": {"query": []}, "parameters": {"route_mappings":
             {"('query', 'text')": "other"}, "default_route": "query"}})j",
         "for queries");
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
