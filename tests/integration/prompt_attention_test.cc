// Tests the attention of decoder-only models with a real server: the maps of a
// prompt and its answer are Transformers', and `trivium attention` shows them.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/folder_server.h"
#include "tests/integration/golden_values.h"
#include "tests/integration/server_process.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// Models with learned positions, with rotary positions, with heads that share
// keys and values (llama.yarn: three, qwen2.window: all five), and with
// windows.
const std::vector<std::string> kDecoders = {
    "gpt2.lm",    "opt.wide",           "gpt_neo.lm",
    "llama.yarn", "qwen3.lm",           "qwen2.window",
    "mistral.lm", "gemma3_text.linear", "qwen3_moe.mixed"};
constexpr int kLongRun = 2;  // a run of the goldens with 23 tokens

class DecoderAttentionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> flags = {"--precision", "f32"};
    for (const std::string& name : kDecoders) {
      flags.insert(flags.end(), {"--model", name + "=" + kGoldens + name});
    }
    server_ = new ServerProcess(flags);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  // Requests all maps of a greedy answer.
  static v1::GenerateRequest Request(const std::string& model,
                                     const v1::Input& input, int new_tokens) {
    v1::GenerateRequest request;
    request.set_model(model);
    *request.mutable_input() = input;
    request.mutable_decoding()->set_beam_size(1);
    request.mutable_decoding()->set_max_new_tokens(new_tokens);
    request.mutable_decoding()->set_ignore_eos(true);
    request.mutable_decoder_attention();
    request.set_tokens(true);
    return request;
  }
  WholeAnswer Ask(const v1::GenerateRequest& request) {
    WholeAnswer answer = GenerateWhole(*client_, request);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    return answer;
  }

  // Returns one map, [queries, keys].
  static std::vector<float> Plane(const v1::Attention& maps, uint32_t layer,
                                  uint32_t head) {
    const size_t size = size_t{maps.query_count()} * maps.key_count();
    const float* from = maps.weights().data() +
                        (size_t{layer} * maps.head_count() + head) * size;
    return {from, from + size};
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* DecoderAttentionTest::server_ = nullptr;

TEST_F(DecoderAttentionTest, ReturnsTransformersMapsOfAPrompt) {
  for (const std::string& name : kDecoders) {
    for (const int run : {0, kLongRun}) {
      SCOPED_TRACE(name + ", run " + std::to_string(run));
      const v1::Input input = GoldenInput(name, run);
      const v1::Attention maps =
          Ask(Request(name, input, 1)).done.decoder_attention();
      const auto tokens = static_cast<uint32_t>(input.ids().ids_size());
      ASSERT_EQ(maps.query_count(), tokens);
      ASSERT_EQ(maps.key_count(), tokens);
      const size_t size = maps.head_count() * tokens * tokens;
      ASSERT_EQ(maps.weights_size(), maps.layer_count() * size);
      for (uint32_t layer = 0; layer < maps.layer_count(); ++layer) {
        const std::vector<float> expected = GoldenTensor(
            name, std::to_string(run) + ".attentions." + std::to_string(layer));
        ASSERT_EQ(expected.size(), size);
        for (size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(maps.weights(static_cast<int>(layer * size + i)),
                      expected[i], 1e-4)
              << "layer " << layer << ", weight " << i;
        }
      }
    }
  }
}

// The maps agree with the windows that GetModel reports.
TEST_F(DecoderAttentionTest, ReturnsRowsOfTheAnswerLikeThoseOfThePrompt) {
  for (const std::string& name : kDecoders) {
    SCOPED_TRACE(name);
    const auto model = client_->GetModel(name);
    ASSERT_TRUE(model.ok()) << model.status();
    const v1::Input prompt = GoldenInput(name, kLongRun);
    const WholeAnswer answer = Ask(Request(name, prompt, 12));
    const v1::Attention& maps = answer.done.decoder_attention();
    // The decoder never reads the last new token.
    ASSERT_EQ(maps.query_count(), 23u + 11u);
    ASSERT_EQ(maps.key_count(), 23u + 11u);
    ASSERT_EQ(maps.layer_count(), model->decoder_layer_count());
    ASSERT_EQ(maps.head_count(), model->head_count());
    for (uint32_t layer = 0; layer < maps.layer_count(); ++layer) {
      const uint32_t window = model->attention_windows_size() == 0
                                  ? 0
                                  : model->attention_windows(layer);
      for (uint32_t head = 0; head < maps.head_count(); ++head) {
        const std::vector<float> plane = Plane(maps, layer, head);
        for (uint32_t q = 0; q < maps.query_count(); ++q) {
          double sum = 0;
          for (uint32_t k = 0; k < maps.key_count(); ++k) {
            const float weight = plane[q * maps.key_count() + k];
            sum += weight;
            const bool seen = k <= q && (window == 0 || k + window > q);
            EXPECT_EQ(weight != 0, seen) << layer << " " << q << " " << k;
          }
          EXPECT_NEAR(sum, 1, 1e-5);
        }
      }
    }
    // Prompt and answer, read as one prompt, give the same bits.
    v1::Input both = prompt;
    both.mutable_ids()->mutable_ids()->Add(answer.ids.begin(),
                                           answer.ids.end() - 1);
    EXPECT_EQ(Ask(Request(name, both, 1))
                  .done.decoder_attention()
                  .SerializeAsString(),
              maps.SerializeAsString());
  }
}

TEST_F(DecoderAttentionTest, DescribesSharedKeysAndWindowsOfModels) {
  const auto model = [this](const std::string& name) {
    const auto got = client_->GetModel(name);
    EXPECT_TRUE(got.ok()) << got.status();
    return got.ok() ? *got : v1::Model();
  };
  EXPECT_EQ(model("llama.yarn").head_count(), 6u);
  EXPECT_EQ(model("llama.yarn").kv_head_count(), 2u);
  EXPECT_THAT(model("llama.yarn").attention_windows(), IsEmpty());
  EXPECT_EQ(model("gpt2.lm").kv_head_count(), 2u);
  EXPECT_THAT(model("qwen2.window").attention_windows(), ElementsAre(0, 6, 6));
  EXPECT_THAT(model("mistral.lm").attention_windows(), ElementsAre(8, 8));
  EXPECT_THAT(model("gemma3_text.linear").attention_windows(),
              ElementsAre(5, 5, 5, 5, 5, 0, 5));
}

TEST_F(DecoderAttentionTest, ReturnsChosenMapsAndRowsEqualToThoseOfAll) {
  v1::GenerateRequest request =
      Request("llama.yarn", GoldenInput("llama.yarn", kLongRun), 4);
  const v1::Attention all = Ask(request).done.decoder_attention();
  v1::AttentionSelection* selection = request.mutable_decoder_attention();
  selection->add_layers(2);
  selection->add_heads(1);
  selection->add_heads(4);
  // A token of the prompt, a token of the answer, and one beyond the end.
  for (const uint32_t row : {7, 24, 1000}) selection->add_rows(row);
  const v1::Attention some = Ask(request).done.decoder_attention();
  ASSERT_EQ(some.layer_count(), 1u);
  ASSERT_EQ(some.head_count(), 2u);
  ASSERT_EQ(some.query_count(), 2u);
  ASSERT_EQ(some.key_count(), all.key_count());
  const size_t keys = all.key_count();
  for (const uint32_t head : {0, 1}) {
    const std::vector<float> expected = Plane(all, 2, head == 0 ? 1 : 4);
    const std::vector<float> actual = Plane(some, 0, head);
    for (size_t k = 0; k < keys; ++k) {
      EXPECT_EQ(actual[k], expected[7 * keys + k]);
      EXPECT_EQ(actual[keys + k], expected[24 * keys + k]);
    }
  }
}

TEST_F(DecoderAttentionTest, ReturnsTheMapsOfEveryDraw) {
  v1::GenerateRequest request =
      Request("qwen3.lm", GoldenInput("qwen3.lm", kLongRun), 8);
  request.mutable_decoding()->set_num_hypotheses(3);
  request.mutable_decoding()->set_sample(true);
  request.mutable_decoding()->set_temperature(3);
  request.mutable_decoding()->set_seed(5);
  std::vector<std::string> prompts, wholes;
  const absl::Status status =
      client_->Generate(request, [&](const v1::GenerateResponse& response) {
        if (!response.has_done()) return absl::OkStatus();
        const v1::Attention& maps = response.done().decoder_attention();
        EXPECT_EQ(maps.query_count(), 23u + 7u);
        const std::vector<float> plane = Plane(maps, 1, 0);
        std::string bytes(reinterpret_cast<const char*>(plane.data()),
                          plane.size() * sizeof(float));
        wholes.push_back(bytes);
        bytes.resize(23 * maps.key_count() * sizeof(float));
        prompts.push_back(bytes);
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(wholes.size(), 3u);
  // The draws share only the prompt.
  for (const int i : {1, 2}) {
    EXPECT_EQ(prompts[i], prompts[0]);
    EXPECT_NE(wholes[i], wholes[0]);
  }
}

TEST_F(DecoderAttentionTest, ShowsMapsInTheProgram) {
  const v1::Input prompt = GoldenInput("llama.yarn", kLongRun);
  std::string ids;
  for (const uint32_t id : prompt.ids().ids()) ids += std::to_string(id) + " ";
  const std::string page = testing::TempDir() + "/decoder_attention_test.html";
  const ProcessResult run =
      RunProgram({TRIVIUM_PROGRAM, "attention", "--address", server_->address(),
                  "--model", "llama.yarn", "--ids", "--html", page, "--json",
                  "--max-new-tokens", "5", ids});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json data = json::parse(run.out);
  ASSERT_EQ(data["attention"].size(), 1u);
  const json& maps = data["attention"][0];
  EXPECT_EQ(maps["kind"], "decoder");
  EXPECT_EQ(maps["heads_per_kv"], 3);
  EXPECT_EQ(maps["boundary"], 23);
  EXPECT_EQ(maps["keys"].size(), 27u);
  EXPECT_EQ(maps["queries"], maps["keys"]);
  v1::GenerateRequest request = Request("llama.yarn", prompt, 5);
  request.mutable_decoding()->clear_ignore_eos();
  const v1::Attention expected = Ask(request).done.decoder_attention();
  ASSERT_EQ(expected.key_count(), 27u);
  for (uint32_t head = 0; head < 6; ++head) {
    const std::vector<float> plane = Plane(expected, 2, head);
    for (size_t q = 0; q < 27; ++q) {
      for (size_t k = 0; k < 27; ++k) {
        EXPECT_EQ(maps["weights"][2][head][q][k].get<float>(),
                  plane[q * 27 + k]);
      }
    }
  }
  std::ifstream file(page);
  EXPECT_TRUE(file.good());
}

}  // namespace
}  // namespace trivium
