// Languages and tasks change the texts of requests and their decoding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/calls/convert/convert.h"
#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

constexpr int32_t kLetterA = PuppetTokenizer::kFirst + 'a';
constexpr int32_t kLetterB = PuppetTokenizer::kFirst + 'b';

class DirectionTest : public testing::Test {
 protected:
  DirectionTest() {
    model_.mutable_tasks() = {{"summarization", "b ", {}},
                              {"translation_en_to_de", "", {}}};
    DecodingOptions& decoding = model_.mutable_tasks()[0].decoding;
    decoding.beam_size = 3;
    decoding.max_new_tokens = 30;
    decoding.min_new_tokens = 5;
    decoding.forced_first_id = 9;
    decoding.source_ngram_size = 2;
  }

  // Converts a Generate request to `input_` and `decoding_`.
  void Prepare(const v1::GenerateRequest& request) {
    InputOptions options;
    options.model = &model_;
    options.limits = &limits_;
    options.decodes = true;
    const auto direction = ConvertDirection(request, "", model_);
    ASSERT_TRUE(direction.ok()) << direction.status();
    options.direction = *direction;
    const auto decoding = ConvertDecoding(request.decoding(), "decoding",
                                          *direction, model_, limits_);
    ASSERT_TRUE(decoding.ok()) << decoding.status();
    const auto input = ConvertInput(request.input(), "input", options);
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *input;
    const auto for_input =
        ForInput(*decoding, *input, *direction, false, "input", model_);
    ASSERT_TRUE(for_input.ok()) << for_input.status();
    decoding_ = *for_input;
  }

  absl::Status Refusal(const v1::GenerateRequest& request) {
    return ConvertDirection(request, "", model_).status();
  }
  static auto InvalidAt(const char* place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  }

  static v1::GenerateRequest Text(const std::string& text) {
    v1::GenerateRequest request;
    request.mutable_input()->set_text(text);
    return request;
  }

  PuppetModel model_;
  RequestLimits limits_;
  PreparedInput input_;
  DecodingOptions decoding_;
};

TEST_F(DirectionTest, ATaskHasItsPrefixAndItsOwnDefaults) {
  v1::GenerateRequest request = Text("a");
  request.set_task("summarization");
  Prepare(request);
  EXPECT_THAT(input_.source.ids,
              ElementsAre(kLetterB, PuppetTokenizer::kFirst + ' ', kLetterA,
                          PuppetTokenizer::kEnd));
  EXPECT_EQ(decoding_.beam_size, 3);
  EXPECT_EQ(decoding_.max_new_tokens, 30);
  EXPECT_EQ(decoding_.min_new_tokens, 5);
  EXPECT_EQ(decoding_.forced_first_id, 9);
  EXPECT_EQ(decoding_.source_ids, input_.source.ids);
  request.mutable_decoding()->set_beam_size(1);
  request.mutable_decoding()->set_max_new_tokens(8);
  request.mutable_decoding()->set_forced_first_id(11);
  Prepare(request);
  EXPECT_EQ(decoding_.beam_size, 1);
  EXPECT_EQ(decoding_.max_new_tokens, 8);
  EXPECT_EQ(decoding_.forced_first_id, 11);
  // The task of one call does not change another call.
  Prepare(Text("a"));
  EXPECT_EQ(decoding_.forced_first_id, std::nullopt);
  EXPECT_TRUE(decoding_.source_ids.empty());
}

TEST_F(DirectionTest, ATaskMayNameLanguages) {
  v1::GenerateRequest request = Text("a");
  request.set_task("translation_en_to_de");
  const auto direction = ConvertDirection(request, "", model_);
  ASSERT_TRUE(direction.ok()) << direction.status();
  EXPECT_EQ(direction->source_language, "en");
  EXPECT_EQ(direction->target_language, "de");
  request.set_task("summarization");
  EXPECT_EQ(ConvertDirection(request, "", model_)->source_language, "");
}

TEST_F(DirectionTest, RefusesTasksThatTheModelDoesNotHave) {
  v1::GenerateRequest request = Text("a");
  request.set_task("answering");
  EXPECT_THAT(Refusal(request), InvalidAt("translation_en_to_de"));
  request.set_task("summarization");
  request.set_target_language("de");
  EXPECT_THAT(Refusal(request), InvalidAt("languages"));
  model_.mutable_tasks().clear();
  request.clear_target_language();
  EXPECT_THAT(Refusal(request), InvalidAt("task_specific_params"));
}

TEST_F(DirectionTest, LanguageTokensSurroundTheTextAndBeginTheTranslation) {
  model_.mutable_direction() = {.prefix_ids = {40},
                                .suffix_ids = {2, 41},
                                .add_special_tokens = false,
                                .forced_first_id = 42,
                                .source_language = "en",
                                .target_language = "de"};
  Prepare(Text("a"));
  EXPECT_THAT(input_.source.ids, ElementsAre(40, kLetterA, 2, 41));
  EXPECT_THAT(input_.prefix, ElementsAre(1));
  EXPECT_EQ(decoding_.forced_first_id, 42);
  // The forced id precedes the caller's prefix, unless the prefix begins with
  // it.
  v1::GenerateRequest request = Text("a");
  request.mutable_input()->set_target_prefix("b");
  Prepare(request);
  EXPECT_THAT(input_.prefix, ElementsAre(1, 42, kLetterB));
  EXPECT_EQ(decoding_.forced_first_id, std::nullopt);
  request.mutable_input()->mutable_target_prefix_ids()->add_ids(42);
  Prepare(request);
  EXPECT_THAT(input_.prefix, ElementsAre(1, 42));
  EXPECT_EQ(decoding_.forced_first_id, std::nullopt);
}

TEST_F(DirectionTest, ALanguageMayBeTheDecodersStartToken) {
  model_.mutable_direction().start_id = 43;
  Prepare(Text("a"));
  EXPECT_THAT(input_.prefix, ElementsAre(43));
  EXPECT_EQ(decoding_.forced_first_id, std::nullopt);
}

}  // namespace
}  // namespace trivium
