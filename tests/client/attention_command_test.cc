// Tests of trivium attention: the numbers on a page and in JSON are the
// server's, whatever the texts are.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "client/commands/command.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_server.h"
#include "tests/client/page_data.h"
#include "tests/client/run_command.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class AttentionTest : public testing::Test {
 protected:
  CommandRun Run(std::vector<std::string> arguments) {
    arguments.insert(
        arguments.begin(),
        {"attention", "--address", server_.address(), "--html", page_path_});
    return RunWithFiles(
        [&](const Io& io) { return RunTrivium(arguments, io); });
  }

  // Returns the numbers of a map on the page, as the page's script reads them.
  static std::vector<double> Weights(const json& data, int map) {
    std::string bytes;
    EXPECT_TRUE(absl::Base64Unescape(
        data["maps"][map]["weights"].get<std::string>(), &bytes));
    std::vector<double> weights;
    if (data["bits"] == 16) {
      for (size_t i = 0; i < bytes.size(); i += 2) {
        weights.push_back((static_cast<uint8_t>(bytes[i]) +
                           256 * static_cast<uint8_t>(bytes[i + 1])) /
                          65535.0);
      }
    } else {
      for (const char code : bytes) {
        const double root = static_cast<uint8_t>(code) / 255.0;
        weights.push_back(root * root);
      }
    }
    return weights;
  }

  FakeServer server_;
  std::string page_path_ = testing::TempDir() + "/attention_test.html";
};

TEST_F(AttentionTest, PutsEveryWeightOnThePage) {
  const CommandRun run = Run({"one two three"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_THAT(run.err, HasSubstr("wrote " + page_path_));
  const json data = PageData(ReadFile(page_path_));
  EXPECT_EQ(data["bits"], 16);
  ASSERT_EQ(data["maps"].size(), 3u);
  EXPECT_EQ(data["maps"][0]["kind"], "encoder");
  EXPECT_EQ(data["maps"][1]["kind"], "cross");
  EXPECT_EQ(data["maps"][2]["kind"], "decoder");
  EXPECT_EQ(data["maps"][0]["queries"], json({"one ", "two ", "three"}));
  EXPECT_EQ(data["maps"][1]["queries"], json({"<one >", "<two >", "<three>"}));
  EXPECT_EQ(data["maps"][2]["keys"], json({"<s>", "<one >", "<two >"}));
  EXPECT_EQ(data["maps"][2]["seen_first"], 1);
  EXPECT_EQ(data["maps"][0]["seen_first"], nullptr);
  for (int map = 0; map < 3; ++map) {
    const std::vector<double> weights = Weights(data, map);
    ASSERT_EQ(weights.size(), 3u * 2 * 3 * 3);
    size_t i = 0;
    for (int layer = 0; layer < 3; ++layer) {
      for (int head = 0; head < 2; ++head) {
        for (int q = 0; q < 3; ++q) {
          for (int k = 0; k < 3; ++k, ++i) {
            const bool seen = map < 2 || k < 1 + q;
            EXPECT_NEAR(weights[i],
                        seen ? FakeServer::Weight(layer, head, q, k) : 0,
                        1.0 / 65535);
          }
        }
      }
    }
  }
}

TEST_F(AttentionTest, ReadsOnlyTheChosenLayersHeadsAndRows) {
  const CommandRun run =
      Run({"--kind", "encoder", "--layer", "2", "--layer", "0", "--head", "1",
           "--row", "1", "one two three"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const json data = PageData(ReadFile(page_path_));
  ASSERT_EQ(data["maps"].size(), 1u);
  const json& map = data["maps"][0];
  EXPECT_EQ(map["layers"], json({0, 2}));
  EXPECT_EQ(map["heads"], json({1}));
  EXPECT_EQ(map["rows"], json({1}));
  EXPECT_EQ(map["queries"], json({"two "}));
  EXPECT_EQ(map["keys"].size(), 3u);
  const std::vector<double> weights = Weights(data, 0);
  ASSERT_EQ(weights.size(), 6u);
  EXPECT_NEAR(weights[3], FakeServer::Weight(2, 1, 1, 0), 1e-4);
  EXPECT_EQ(server_.last_encode.attention().ShortDebugString(),
            "layers: 0 layers: 2 heads: 1 rows: 1");
  EXPECT_THAT(run.out, HasSubstr("Encoder self-attention, layer 2, head 1"));
}

TEST_F(AttentionTest, ReadsPartsThatFitIntoAResponse) {
  server_.max_response_bytes = 64;  // 14 weights: a row of three at a time
  CommandRun run = Run({"one two three"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_LE(server_.largest_attention_bytes, 64);
  const std::string small = ReadFile(page_path_);
  server_.max_response_bytes = 4 << 20;
  run = Run({"one two three"});
  EXPECT_EQ(ReadFile(page_path_), small);
  server_.max_response_bytes =
      16;  // less than a row, which is requested anyway
  EXPECT_EQ(Run({"one two three"}).code, kExitOk);
  EXPECT_EQ(ReadFile(page_path_), small);
}

TEST_F(AttentionTest, MarksTheSecondTextOfAPair) {
  server_.design = v1::DESIGN_ENCODER;
  const CommandRun run = Run({"--second", "c d e", "a b"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const json data = PageData(ReadFile(page_path_));
  EXPECT_EQ(data["texts"], json({"a b", "c d e"}));
  ASSERT_EQ(data["maps"].size(), 1u);
  EXPECT_EQ(data["maps"][0]["boundary"], 2);
  EXPECT_EQ(data["maps"][0]["keys"].size(), 5u);
}

TEST_F(AttentionTest, SendsLanguagesWithBothCalls) {
  EXPECT_EQ(
      Run({"--source-language", "en", "--target-language", "de", "a"}).code,
      kExitOk);
  EXPECT_EQ(server_.last_encode.source_language(), "en");
  EXPECT_EQ(server_.last_encode.target_language(), "de");
  EXPECT_EQ(server_.last_translate.options().target_language(), "de");
  // The maps are read for one greedy translation of the same length.
  EXPECT_EQ(server_.last_translate.options().decoding().ShortDebugString(),
            "beam_size: 1 num_hypotheses: 1 max_new_tokens: 1 sample: false");
}

TEST_F(AttentionTest, RefusesMapsThatTheModelLacks) {
  EXPECT_THAT(Run({"--layer", "3", "a"}).err, ErrorAt("layer 3"));
  EXPECT_THAT(Run({"--head", "9", "a"}).err, ErrorAt("head 9"));
  EXPECT_THAT(Run({"--row", "5", "a"}).err, ErrorAt("rows"));
  EXPECT_THAT(Run({"a", "b"}).err, ErrorAt("one text"));
  EXPECT_EQ(Run({"--kind", "other", "a"}).code, kExitUsage);
  EXPECT_THAT(Run({"--ids", "--second", "b", "1 2"}).err, ErrorAt("--ids"));
  EXPECT_EQ(Run({"bad"}).code, kExitFailed);
  server_.design = v1::DESIGN_ENCODER;
  EXPECT_THAT(Run({"--kind", "cross", "a"}).err, ErrorAt("kind encoder"));
  EXPECT_THAT(Run({"--max-new-tokens", "3", "a"}).err,
              ErrorAt("--max-new-tokens"));
  server_.design = v1::DESIGN_DECODER;
  EXPECT_THAT(Run({"--kind", "encoder", "a"}).err, ErrorAt("kind decoder"));
}

TEST_F(AttentionTest, ReportsAFileThatCannotBeWritten) {
  EXPECT_EQ(Run({"--npz", "/nowhere/a.npz", "a"}).code, kExitIo);
  page_path_ = "/nowhere/a.html";
  const CommandRun run = Run({"a"});
  EXPECT_EQ(run.code, kExitIo);
  EXPECT_THAT(run.err, ErrorAt("/nowhere/a.html"));
}

TEST_F(AttentionTest, ShowsHostileTextsAsText) {
  const std::vector<std::string> texts = {
      "</script><script>alert(1)</script><!-- x",
      "<!--<script> ]]> <style></style> {{data}} {{script}}",
      "\"quotes\" 'and' \\backslashes\\ &amp; `${1}`",
      "\u202ereversed \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
      "\U0001F469\u200d\U0001F469\u200d\U0001F467 \U0001F34E e\u0301",
      "\x01\x1b[31mred\x1b[0m\a\b\x7f \u2028\u2029 \u0085",
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    const CommandRun run = Run({text});
    ASSERT_EQ(run.code, kExitOk) << run.err;
    const std::string page = ReadFile(page_path_);
    const json data = PageData(page);
    EXPECT_EQ(data["texts"], json({text, "<" + text + ">"}));
    std::string joined;
    for (const auto& piece : data["maps"][0]["keys"]) {
      joined += piece.get<std::string>();
    }
    EXPECT_EQ(joined, text);
    // No character moves a terminal's cursor or reorders its line.
    for (const char* sign : {"\x1b", "\a", "\b", "\x7f", "\u202e", "\u2028"}) {
      EXPECT_THAT(run.out, Not(HasSubstr(sign)));
    }
  }
}

TEST_F(AttentionTest, WritesJson) {
  const CommandRun run =
      Run({"--no-html", "--json", "--kind", "decoder", "one two"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const json data = json::parse(run.out);
  EXPECT_EQ(data["texts"], json({"one two", "<one two>"}));
  const json& map = data["attention"][0];
  EXPECT_EQ(map["queries"], json({"<one >", "<two>"}));
  ASSERT_EQ(map["weights"].size(), 3u);
  EXPECT_EQ(map["weights"][2][1][1][1].get<float>(),
            FakeServer::Weight(2, 1, 1, 1));
  EXPECT_EQ(map["weights"][2][1][0][1], 0);
}

TEST_F(AttentionTest, ShowsTheLastLayerOnATerminal) {
  server_.design = v1::DESIGN_ENCODER;
  const CommandRun run = Run({"--layer", "0", "--head", "0", "a b"});
  EXPECT_EQ(run.out,
            "Encoder self-attention, layer 0, head 0\n"
            "   0 a  |  |  b 0.01  a  0.00\n"
            "   1 b  |\u2591\u2591|  b 0.08  a  0.07\n");
}

TEST_F(AttentionTest, ShowsADecodersPromptAndAnswerInOneMap) {
  server_.design = v1::DESIGN_DECODER;
  server_.kv_head_count = 1;
  server_.attention_windows = {0, 2, 0};
  const CommandRun run = Run({"--layer", "1", "--head", "1", "a b"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const json data = PageData(ReadFile(page_path_));
  EXPECT_EQ(data["texts"], json({"a b", "one two"}));
  ASSERT_EQ(data["maps"].size(), 1u);
  const json& map = data["maps"][0];
  EXPECT_EQ(map["kind"], "decoder");
  // The decoder never reads the last token.
  EXPECT_EQ(map["keys"], json({"a ", "b", "one"}));
  EXPECT_EQ(map["queries"], map["keys"]);
  EXPECT_EQ(map["seen_first"], 1);
  EXPECT_EQ(map["boundary"], 2);
  EXPECT_EQ(map["prompt"], true);
  EXPECT_EQ(map["heads_per_kv"], 2);
  EXPECT_EQ(map["windows"], json({2}));
  const std::vector<double> weights = Weights(data, 0);
  ASSERT_EQ(weights.size(), 9u);
  EXPECT_NEAR(weights[4], FakeServer::Weight(1, 1, 1, 1), 1e-4);
  EXPECT_EQ(weights[1], 0);
  // Keys that it may not see are hatched: later ones, and those before the
  // window.
  EXPECT_EQ(run.out,
            "Decoder self-attention, layer 1, head 1, which reads KV head 0\n"
            "   0 a   |\u2588\u2571\u2571|  a  0.70\n"
            "   1 b   |\u2588\u2588\u2571|  b 0.78  a  0.77\n"
            "     answer:\n"
            "   2 one |\u2571\u2588\u2588|  one 0.86  b 0.85\n");
  // The answer is greedy, and not longer than before.
  EXPECT_EQ(server_.last_generate.decoding().ShortDebugString(),
            "beam_size: 1 num_hypotheses: 1 max_new_tokens: 2 sample: false");
  EXPECT_EQ(server_.last_generate.decoder_attention().ShortDebugString(),
            "layers: 1 heads: 1");
}

TEST_F(AttentionTest, AcceptsAPromptAloneAndIds) {
  server_.design = v1::DESIGN_DECODER;
  const CommandRun alone =
      Run({"--no-html", "--json", "--max-new-tokens", "1", "a b"});
  EXPECT_EQ(alone.code, kExitOk) << alone.err;
  const json map = json::parse(alone.out)["attention"][0];
  EXPECT_EQ(map["keys"], json({"a ", "b"}));
  EXPECT_EQ(map["boundary"], nullptr);
  EXPECT_EQ(map["heads_per_kv"], 1);
  EXPECT_EQ(map["weights"][2][1][1][1].get<float>(),
            FakeServer::Weight(2, 1, 1, 1));
  EXPECT_EQ(map["weights"][2][1][0][1], 0);
  const CommandRun ids = Run({"--no-html", "--json", "--ids", "5 9"});
  EXPECT_EQ(ids.code, kExitOk) << ids.err;
  EXPECT_EQ(json::parse(ids.out)["attention"][0]["keys"],
            json({"5", "9", "3"}));
}

// The calls for a long prompt stay below the server's limit of response bytes.
TEST_F(AttentionTest, ReadsALongPromptInSeveralCalls) {
  server_.design = v1::DESIGN_DECODER;
  server_.max_response_bytes = 2000;
  std::string text = "a";
  for (int i = 0; i < 30; ++i) text += " a";
  const CommandRun run = Run({"--no-html", "--json", text});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_LE(server_.largest_attention_bytes, 2000);
  const json weights = json::parse(run.out)["attention"][0]["weights"];
  for (int q = 0; q < 32; ++q) {
    for (int k = 0; k < 32; ++k) {
      EXPECT_EQ(weights[1][1][q][k].get<float>(),
                k <= q ? FakeServer::Weight(1, 1, q, k) : 0);
    }
  }
}

TEST_F(AttentionTest, WritesNoPageWithNoHtml) {
  std::remove(page_path_.c_str());
  EXPECT_EQ(Run({"--no-html", "a"}).code, kExitOk);
  EXPECT_FALSE(std::ifstream(page_path_).good());
}

}  // namespace
}  // namespace trivium
