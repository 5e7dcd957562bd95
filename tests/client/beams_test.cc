// Tests of trivium beams: it shows the tree that the server sent.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client/commands/beam_tree.h"
#include "client/commands/command.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "tests/client/fake_server.h"
#include "tests/client/page_data.h"
#include "tests/client/run_command.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Two steps with every fate: "a" is continued by "b" (result 1), which stays
// the best.
constexpr char kTrace[] = R"(
  steps {
    candidates { id: 1 piece: "a" logprob: -0.5 total_logprob: -0.5
                 score: -0.5 fate: BEAM_FATE_CONTINUED }
    candidates { id: 2 piece: "</s>" logprob: -0.75 total_logprob: -0.75
                 score: -0.75 fate: BEAM_FATE_OUTSCORED }
    candidates { id: 3 piece: "c" logprob: -1 total_logprob: -1
                 score: -1 fate: BEAM_FATE_CONTINUED }
    candidates { id: 4 logprob: -2 total_logprob: -2
                 score: -2 fate: BEAM_FATE_PRUNED }
  }
  steps {
    candidates { parent: 0 id: 5 piece: "b" logprob: -0.25
                 total_logprob: -0.75 score: -0.375
                 fate: BEAM_FATE_ENDED hypothesis: 0 }
    candidates { parent: 0 id: 6 piece: "d" logprob: -1 total_logprob: -1.5
                 score: -0.75 fate: BEAM_FATE_STOPPED }
    candidates { parent: 2 id: 7 piece: "e" logprob: -2 total_logprob: -3
                 score: -1.5 fate: BEAM_FATE_PRUNED }
    candidates { parent: 2 id: 8 piece: "f" logprob: -3 total_logprob: -4
                 score: -2 fate: BEAM_FATE_ENDED_TOO_LOW }
  })";

v1::BeamTrace Trace() {
  v1::BeamTrace trace;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kTrace, &trace));
  return trace;
}

v1::TranslateResult Result(v1::BeamTrace trace) {
  v1::TranslateResult result;
  *result.mutable_beam_trace() = std::move(trace);
  v1::Hypothesis* hypothesis = result.add_hypotheses();
  hypothesis->set_text("ab");
  hypothesis->set_score(-0.375f);
  hypothesis->set_finish_reason(v1::FINISH_REASON_END);
  return result;
}

class BeamsTest : public testing::Test {
 protected:
  BeamsTest() { server_.trace = Trace(); }

  CommandRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"beams", "--address", server_.address()});
    return RunWithFiles(
        [&](const Io& io) { return RunTrivium(arguments, io); });
  }

  FakeServer server_;
};

TEST_F(BeamsTest, DrawsTheTreeWithItsTrunkToTheBestResult) {
  const CommandRun run = Run({"text"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(
      run.out,
      "result 1 0.0000 <text>\n"
      "\u251c\u2500 </s> -0.75 ended with score -0.7500, but as many others as "
      "the beam is wide ended with better ones\n"
      "\u251c\u2500 c -1.00\n"
      "\u2502  \u251c\u2500 f -4.00 ended, but only at rank 4 of its step: no "
      "more may end than the beam is wide\n"
      "\u2502  e -3.00 pruned\n"
      "\u251c\u2500 4 -2.00 pruned\n"
      "a -0.50\n"
      "\u251c\u2500 d -1.50 still running when the search stopped: it could "
      "not "
      "get into the results any more\n"
      "b -0.75 ended with score -0.3750: result 1\n");
}

// Pruned candidates are left out first, then the end.
TEST(BeamTreeTest, ShowsAsManyRowsAsFit) {
  const BeamTree tree = BeamTree::Create(Result(Trace())).value();
  const Colors none(false);
  const auto lines = [&](int rows) {
    std::istringstream text(tree.Text(none, rows));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  };
  const std::vector<std::string> all = lines(0);
  ASSERT_EQ(all.size(), 9u);
  EXPECT_THAT(all[0], HasSubstr("result 1"));
  EXPECT_EQ(lines(10), all);
  const std::vector<std::string> most = lines(9);
  EXPECT_EQ(most.size(), 8u);
  EXPECT_EQ(most[0], all[0]);
  EXPECT_THAT(tree.Text(none, 9), Not(HasSubstr("pruned")));
  EXPECT_THAT(most.back(), HasSubstr("6 of 8 lines"));
  EXPECT_EQ(lines(5).size(), 4u);
  EXPECT_THAT(lines(1).back(), HasSubstr("0 of 8 lines"));
}

TEST_F(BeamsTest, AsksForABeamOfFourUnlessTold) {
  Run({"text"});
  EXPECT_EQ(server_.last_translate.options().decoding().ShortDebugString(),
            "beam_size: 4 trace: true");
  Run({"--beam-size", "7", "--length-penalty", "2", "text"});
  EXPECT_EQ(server_.last_translate.options().decoding().ShortDebugString(),
            "beam_size: 7 length_penalty: 2 trace: true");
}

TEST_F(BeamsTest, PutsEveryCandidateOnThePage) {
  const std::string path = testing::TempDir() + "/beams_test.html";
  const CommandRun run = Run({"--html", path, "text"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const json data = PageData(page.str());
  EXPECT_EQ(data["text"], "text");
  const v1::BeamTrace trace = Trace();
  ASSERT_EQ(data["steps"].size(), 2u);
  for (int s = 0; s < 2; ++s) {
    ASSERT_EQ(data["steps"][s].size(), 4u);
    for (int i = 0; i < 4; ++i) {
      const v1::BeamTrace::Candidate& sent = trace.steps(s).candidates(i);
      const json& one = data["steps"][s][i];
      EXPECT_EQ(one["parent"], sent.parent());
      EXPECT_EQ(one["id"], sent.id());
      EXPECT_EQ(one["token"], sent.id() == 4 ? "4" : sent.piece());
      EXPECT_EQ(one["logprob"].get<float>(), sent.logprob());
      EXPECT_EQ(one["sum"].get<float>(), sent.total_logprob());
      EXPECT_EQ(one["score"].get<float>(), sent.score());
      EXPECT_EQ(one.contains("hypothesis"), sent.has_hypothesis());
    }
  }
  EXPECT_EQ(data["steps"][0][3]["fate"], "pruned");
  EXPECT_THAT(data["steps"][0][3]["why"].get<std::string>(),
              HasSubstr("the 2 best of the step went on, the last of them with "
                        "-1.0000, and this has -2.0000"));
  EXPECT_THAT(data["steps"][0][2]["why"].get<std::string>(),
              HasSubstr("among the best of its step"));
}

TEST_F(BeamsTest, WritesJson) {
  const CommandRun run = Run({"--json", "text"});
  const json data = json::parse(run.out);
  EXPECT_EQ(data["beam_trace"]["steps"][1]["candidates"][0]["piece"], "b");
}

TEST_F(BeamsTest, AcceptsExactlyOneText) {
  EXPECT_THAT(Run({"a", "b"}).err, ErrorAt("one text"));
  EXPECT_EQ(Run({"--file", "/nowhere"}).code, kExitIo);
}

TEST(BeamTreeTest, ShowsHostilePiecesAsText) {
  v1::BeamTrace trace = Trace();
  const std::string piece = "</script><b onload=x>\x1b[2J\u202e\"'";
  trace.mutable_steps(0)->mutable_candidates(0)->set_piece(piece);
  v1::TranslateResult result = Result(trace);
  result.mutable_hypotheses(0)->set_text(piece);
  const auto tree = BeamTree::Create(result);
  ASSERT_TRUE(tree.ok()) << tree.status();
  const json data = PageData(tree->Page("m", piece));
  EXPECT_EQ(data["steps"][0][0]["token"], piece);
  EXPECT_EQ(data["hypotheses"][0]["text"], piece);
  const std::string text = tree->Text(Colors(false));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
}

TEST(BeamTreeTest, RefusesATraceWithAnUnknownParent) {
  v1::BeamTrace trace = Trace();
  trace.mutable_steps(1)->mutable_candidates(0)->set_parent(4);
  EXPECT_THAT(BeamTree::Create(Result(trace)),
              IsError(absl::StatusCode::kInternal, "parent 4"));
}

TEST(BeamTreeTest, RefusesAResultWithoutATrace) {
  const auto tree = BeamTree::Create(Result({}));
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->Text(Colors(false)), "result 1 -0.3750 ab\n");
}

// The trunk is drawn by a loop, so a long translation causes no deep recursion.
TEST(BeamTreeTest, ShowsLongTraces) {
  v1::BeamTrace trace;
  for (int s = 0; s < 4000; ++s) {
    auto* step = trace.add_steps();
    for (int i = 0; i < 2; ++i) {
      auto* one = step->add_candidates();
      one->set_piece(i == 0 ? "x" : "y");
      one->set_fate(i == 0 ? v1::BEAM_FATE_CONTINUED : v1::BEAM_FATE_PRUNED);
    }
  }
  const auto tree = BeamTree::Create(Result(trace));
  ASSERT_TRUE(tree.ok());
  EXPECT_THAT(tree->Text(Colors(false)), HasSubstr("x 0.00\n"));
}

}  // namespace
}  // namespace trivium
