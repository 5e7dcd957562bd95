// Limits of what a call may cost, which are checked before the work is done.
#include <set>
#include <thread>

#include "server/limits/byte_account.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::ElementsAre;

class BoundsTest : public HandlersTest {
 protected:
  // Serves a model "encoder" with this head. It reads at most 64 tokens.
  PuppetModel* AddEncoder(HeadInfo head) {
    auto owned = std::make_unique<PuppetModel>(Design::kEncoder);
    PuppetModel* model = owned.get();
    model->ReadPairs();
    model->mutable_info().head = std::move(head);
    model->mutable_info().mask_id = PuppetTokenizer::kFirst + '_';
    model->mutable_tokenizer().heard = [this](std::string_view text) {
      heard_.emplace_back(text);
      if (on_text_) on_text_();
    };
    const ModelHandle served = ServedPuppet("encoder", std::move(owned));
    metrics_.AddModel(*served);
    EXPECT_TRUE(environment_.models.Add(served).ok());
    return model;
  }
  template <typename Message>
  void Start(NewHandler* make, Message request, CallContext context = {}) {
    request.set_model("encoder");
    transport_.Bring(request);
    handler_ = make(environment_, std::move(context), &transport_);
    handler_->Start();
  }
  // The status of a call that is refused before it reaches the batcher.
  template <typename Message>
  absl::Status Refusal(NewHandler* make, const Message& request) {
    Start(make, request);
    const Ending ending = transport_.WaitForFinish();
    EXPECT_EQ(batcher_.count(), 0);
    return ending.status;
  }

  std::vector<std::string> heard_;  // texts that were tokenized
  std::function<void()> on_text_;   // called after each of them
};

TEST_F(BoundsTest, RefusesAnAnswerCallThatNeedsTooManyWindows) {
  AddEncoder({HeadKind::kAnswer, HeadInfo::Scores::kNone, {}});
  environment_.limits.max_windows = 20;
  v1::AnswerRequest request;
  v1::AnswerRequest::Question* input = request.add_inputs();
  // 61 tokens and two ends leave room for one token in each window.
  input->set_question(std::string(61, 'q'));
  input->set_context(std::string(21, 'c'));
  EXPECT_THAT(Refusal(&NewAnswer, request),
              AllOf(InvalidAt("inputs[0]: "), InvalidAt("21 windows")));
}

TEST_F(BoundsTest, InputsOfAnAnswerCallShareItsWindows) {
  AddEncoder({HeadKind::kAnswer, HeadInfo::Scores::kNone, {}});
  environment_.limits.max_windows = 20;
  v1::AnswerRequest request;
  for (int i = 0; i < 2; ++i) {
    v1::AnswerRequest::Question* input = request.add_inputs();
    input->set_question(std::string(61, 'q'));
    input->set_context(std::string(11, 'c'));
  }
  EXPECT_THAT(Refusal(&NewAnswer, request),
              AllOf(InvalidAt("inputs[1]: "), InvalidAt("11 windows"),
                    InvalidAt(" 9 ")));
}

TEST_F(BoundsTest, AsManyWindowsAsTheLimitAreAnswered) {
  AddEncoder({HeadKind::kAnswer, HeadInfo::Scores::kNone, {}});
  environment_.limits.max_windows = 20;
  v1::AnswerRequest request;
  for (const int tokens : {19, 1}) {
    v1::AnswerRequest::Question* input = request.add_inputs();
    input->set_question(std::string(61, 'q'));
    input->set_context(std::string(tokens, 'c'));
  }
  request.set_max_answer_tokens(256);
  Start(&NewAnswer, request);
  for (int i = 0; i < 20; ++i) {
    const Request& window = batcher_.Wait(i);
    EXPECT_EQ(window.source.ids.size(), 64u);
    RequestResult result;
    result.logits.resize(2 * 64);
    // The sixth window's token begins and ends the answer.
    result.logits[2 * 62] = result.logits[2 * 62 + 1] = i == 5 ? 3 : 0;
    window.observer->OnDone(std::move(result));
  }
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  const auto response = transport_.Response<v1::AnswerResponse>(0);
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).window_count(), 19u);
  EXPECT_EQ(response.results(0).token_count(), 19u * 64);
  EXPECT_EQ(response.results(0).answers(0).byte_begin(), 5u);
  EXPECT_EQ(response.results(1).window_count(), 1u);
  EXPECT_EQ(response.results(1).answers(0).text(), "c");
}

TEST_F(BoundsTest, RefusesAnswersLongerThanTheLimit) {
  AddEncoder({HeadKind::kAnswer, HeadInfo::Scores::kNone, {}});
  v1::AnswerRequest request;
  request.add_inputs();
  request.set_max_answer_tokens(257);
  EXPECT_THAT(Refusal(&NewAnswer, request), InvalidAt("max_answer_tokens"));
  EXPECT_TRUE(heard_.empty());
}

TEST_F(BoundsTest, RefusesAnswersOverTheLimitOfTheResponse) {
  AddEncoder({HeadKind::kAnswer, HeadInfo::Scores::kNone, {}});
  environment_.limits.max_response_bytes = 100;
  v1::AnswerRequest request;
  request.add_inputs()->set_question("q");
  request.mutable_inputs(0)->set_context(std::string(50, 'c'));
  request.set_top(100);
  request.set_max_answer_tokens(50);
  Start(&NewAnswer, request);
  RequestResult result;
  result.logits.resize(2 * batcher_.Wait(0).source.ids.size());
  batcher_.Wait(0).observer->OnDone(std::move(result));
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(absl::IsInvalidArgument(ending.status)) << ending.status;
  EXPECT_EQ(transport_.written(), 0);
}

TEST_F(BoundsTest, MasksAskForTheirBestLogitsOnly) {
  AddEncoder({HeadKind::kFillMask, HeadInfo::Scores::kSoftmax, {}});
  v1::FillMaskRequest request;
  request.set_top(7);
  request.add_inputs()->set_text("a_c_");
  Start(&NewFillMask, request);
  EXPECT_EQ(batcher_.Wait(0).logits_best, 7);
  EXPECT_THAT(batcher_.Wait(0).logits_positions, ElementsAre(1, 3));
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("enough"));
  transport_.WaitForFinish();
}

TEST_F(BoundsTest, RefusesToScoreMoreTokensThanTheModelReads) {
  v1::ScoreRequest request;
  v1::ScoreInput* const input = request.add_inputs();
  input->set_text("a");
  for (int i = 0; i < 1'000'000; ++i) {
    input->mutable_target_ids()->add_ids(PuppetTokenizer::kFirst + 'a');
  }
  transport_.Bring(request);
  handler_ = NewScore(environment_, {}, &transport_);
  handler_->Start();
  EXPECT_THAT(transport_.WaitForFinish().status,
              AllOf(InvalidAt("inputs[0]: "), InvalidAt("129")));
}

TEST_F(BoundsTest, ScoredTokensAreAccountedWhileTheyWait) {
  v1::ScoreRequest request;
  request.set_top_logprobs(20);
  v1::ScoreInput* const input = request.add_inputs();
  input->set_text("a");
  for (int i = 0; i < 100; ++i) {
    input->mutable_target_ids()->add_ids(PuppetTokenizer::kFirst + 'a');
  }
  transport_.Bring(request);
  ByteAccount account;
  CallContext context;
  context.held = std::make_shared<CallBytes>(&account);
  handler_ = NewScore(environment_, context, &transport_);
  handler_->Start();
  batcher_.Wait(0);
  // Each token counts with its alternatives.
  EXPECT_GT(account.bytes(Held::kResults), 100 * 20 * 20);
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("over"));
  transport_.WaitForFinish();
  context.held->Close();
  EXPECT_EQ(account.total(), 0);
}

TEST_F(BoundsTest, ScoresAreBoundedBeforeTheModelIsAsked) {
  environment_.limits.max_response_bytes = 100'000;
  v1::ScoreRequest request;
  request.set_top_logprobs(20);
  for (int i = 0; i < 1000; ++i) {
    v1::ScoreInput* const input = request.add_inputs();
    input->set_text("a");
    for (int k = 0; k < 20; ++k) {
      input->mutable_target_ids()->add_ids(PuppetTokenizer::kFirst + 'a');
    }
    // This invalid id is never read.
    if (i == 999) input->mutable_target_ids()->add_ids(UINT32_MAX);
  }
  transport_.Bring(request);
  handler_ = NewScore(environment_, {}, &transport_);
  handler_->Start();
  EXPECT_THAT(transport_.WaitForFinish().status, InvalidAt("response"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(BoundsTest, CandidatesOfMasksAreBoundedBeforeTheModelIsAsked) {
  AddEncoder({HeadKind::kFillMask, HeadInfo::Scores::kSoftmax, {}});
  environment_.limits.max_response_bytes = 100'000;
  v1::FillMaskRequest request;
  request.set_top(100);
  for (int i = 0; i < 32; ++i) request.add_inputs()->set_text("_");
  Start(&NewFillMask, request);
  EXPECT_THAT(transport_.WaitForFinish().status, InvalidAt("102400"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(BoundsTest, LabelsAreBoundedBeforeTheModelIsAsked) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kSoftmax,
              std::vector<std::string>(1000, "a label")});
  environment_.limits.max_response_bytes = 100'000;
  v1::ClassifyRequest request;
  for (int i = 0; i < 4; ++i) request.add_inputs()->set_text("a");
  EXPECT_THAT(Refusal(&NewClassify, request), InvalidAt("108000"));
}

TEST_F(BoundsTest, NoMoreSpansAreMadeThanAResponseHolds) {
  AddEncoder({HeadKind::kTag, HeadInfo::Scores::kSoftmax, {"O", "A"}});
  environment_.limits.max_response_bytes = 400;
  v1::ClassifyTokensRequest request;
  request.set_aggregation(v1::AGGREGATION_NONE);
  for (int i = 0; i < 3; ++i) request.add_inputs()->set_text("abcdefgh");
  Start(&NewClassifyTokens, request);
  for (int i = 0; i < 3; ++i) {
    RequestResult result;
    for (size_t token = 0; token < batcher_.Wait(i).source.ids.size();
         ++token) {
      result.logits.insert(result.logits.end(), {0, 1});
    }
    batcher_.Wait(i).observer->OnDone(std::move(result));
  }
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(absl::IsInvalidArgument(ending.status)) << ending.status;
  EXPECT_EQ(transport_.written(), 0);
}

TEST_F(BoundsTest, RefusesTooManyLabelsToIgnore) {
  AddEncoder({HeadKind::kTag, HeadInfo::Scores::kSoftmax, {"O", "B-LOC"}});
  v1::ClassifyTokensRequest request;
  request.add_inputs()->set_text("a");
  for (int i = 0; i < 1025; ++i) request.add_ignore(std::to_string(i));
  EXPECT_THAT(Refusal(&NewClassifyTokens, request), InvalidAt("ignore"));
}

TEST_F(BoundsTest, TokensOverTheResponsesLimitAreNotMade) {
  AddEncoder({HeadKind::kTag, HeadInfo::Scores::kSoftmax, {"O", "A"}});
  environment_.limits.max_response_bytes = 1000;
  v1::TokenizeRequest request;
  for (int i = 0; i < 3; ++i) request.add_texts(std::string(50, 'a'));
  Start(&NewTokenize, request);
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(absl::IsInvalidArgument(ending.status));
  // The first two texts already have too many tokens.
  EXPECT_EQ(heard_.size(), 2u);
}

TEST_F(BoundsTest, TokensAreAccountedWhileOthersAreMade) {
  AddEncoder({HeadKind::kTag, HeadInfo::Scores::kSoftmax, {"O", "A"}});
  ByteAccount account;
  CallContext context;
  context.held = std::make_shared<CallBytes>(&account);
  std::vector<int64_t> held;
  on_text_ = [&] { held.push_back(account.bytes(Held::kResults)); };
  v1::TokenizeRequest request;
  for (int i = 0; i < 2; ++i) request.add_texts(std::string(50, 'a'));
  Start(&NewTokenize, request, context);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0], 0);
  EXPECT_GT(held[1], static_cast<int64_t>(50 * sizeof(v1::Token)));
  context.held->Close();
  EXPECT_EQ(account.total(), 0);
}

TEST_F(BoundsTest, NoTextIsTokenizedForACallThatIsGone) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}});
  on_text_ = [this] { handler_->OnCancel(); };
  v1::ClassifyRequest request;
  for (const char* text : {"a", "b", "c"}) request.add_inputs()->set_text(text);
  Start(&NewClassify, request);
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
  EXPECT_THAT(heard_, ElementsAre("a"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(BoundsTest, NoTextIsTokenizedForACallThatIsLate) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}});
  on_text_ = [this] { clock_.Advance(absl::Seconds(1)); };
  v1::ClassifyRequest request;
  for (const char* text : {"a", "b", "c"}) request.add_inputs()->set_text(text);
  Start(&NewClassify, request, {.deadline = clock_.Now() + absl::Seconds(2)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport_.WaitForFinish().status));
  EXPECT_THAT(heard_, ElementsAre("a", "b"));
}

TEST_F(BoundsTest, LongTextsOfACallAreTokenizedOneByOne) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}});
  // Another call's text, queued while the first of this one is tokenized.
  std::vector<std::string> order;
  on_text_ = [this, &order] {
    order.push_back("long");
    if (order.size() > 1) return;
    tokenizing_.Run({0, &order}, 5000, [&order] { order.push_back("other"); });
  };
  v1::ClassifyRequest request;
  request.set_truncate(true);
  for (int i = 0; i < 3; ++i) {
    request.add_inputs()->set_text(std::string(20'000, 'a'));
  }
  Start(&NewClassify, request);
  batcher_.Wait(2);
  EXPECT_THAT(order, ElementsAre("long", "other", "long", "long"));
  for (int i = 0; i < 3; ++i) {
    batcher_.Wait(i).observer->OnDone(absl::CancelledError("enough"));
  }
  transport_.WaitForFinish();
}

TEST_F(BoundsTest, APromptCountsAsTextOfEachInput) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}});
  std::vector<std::string> order;
  on_text_ = [this, &order] {
    order.push_back("long");
    if (order.size() > 1) return;
    tokenizing_.Run({0, &order}, 5000, [&order] { order.push_back("other"); });
  };
  v1::EncodeRequest request;
  request.set_truncate(true);
  request.set_prompt(std::string(20'000, 'p'));
  for (const char* text : {"a", "b", "c"}) request.add_inputs()->set_text(text);
  Start(&NewEncode, request);
  batcher_.Wait(2);
  EXPECT_THAT(order, ElementsAre("long", "other", "long", "long"));
  for (int i = 0; i < 3; ++i) {
    batcher_.Wait(i).observer->OnDone(absl::CancelledError("enough"));
  }
  transport_.WaitForFinish();
}

TEST_F(BoundsTest, ALargeGlossaryIsReadOnThePool) {
  auto owned = std::make_unique<PuppetModel>();
  std::set<std::thread::id> threads;
  owned->mutable_tokenizer().heard = [&threads](std::string_view) {
    threads.insert(std::this_thread::get_id());
  };
  const ModelHandle served = ServedPuppet("glossed", std::move(owned));
  metrics_.AddModel(*served);
  ASSERT_TRUE(environment_.models.Add(served).ok());
  v1::TranslateRequest request;
  request.set_model("glossed");
  for (int i = 0; i < 1000; ++i) {
    v1::GlossaryTerm* term =
        request.mutable_options()->mutable_glossary()->add_terms();
    term->set_source("a");
    term->set_target("b");
  }
  request.add_inputs()->set_text("a");
  transport_.Bring(request);
  handler_ = NewTranslate(environment_, {}, &transport_);
  handler_->Start();
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("enough"));
  transport_.WaitForFinish();
  EXPECT_FALSE(threads.empty());
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_F(BoundsTest, DocumentsOfARerankCallAreTokenizedOneByOne) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}})
      ->mutable_info()
      .max_source_tokens = 1 << 16;
  std::vector<std::string> order;
  on_text_ = [this, &order] {
    order.push_back(heard_.back().substr(0, 1));
    if (order.size() > 2) return;
    tokenizing_.Run({0, &order}, 5000, [&order] { order.push_back("other"); });
  };
  v1::RerankRequest request;
  request.set_query("q");
  for (const char text : {'a', 'b', 'c'}) {
    request.add_documents(std::string(20'000, text));
  }
  Start(&NewRerank, request);
  batcher_.Wait(2);
  // The query is tokenized once.
  EXPECT_THAT(order, ElementsAre("q", "a", "other", "other", "b", "c"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(batcher_.Wait(i).source.ids.size(), 20'003u);
    batcher_.Wait(i).observer->OnDone(absl::CancelledError("enough"));
  }
  transport_.WaitForFinish();
}

TEST_F(BoundsTest, NoDocumentIsTokenizedForARerankCallThatIsGone) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}});
  on_text_ = [this] {
    if (heard_.back() == "b") handler_->OnCancel();
  };
  v1::RerankRequest request;
  request.set_query("q");
  for (const char* text : {"a", "b", "c"}) request.add_documents(text);
  Start(&NewRerank, request);
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
  EXPECT_THAT(heard_, ElementsAre("q", "a", "b"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(BoundsTest, TextsOfAClassifyTokensCallAreTokenizedOnce) {
  AddEncoder({HeadKind::kTag, HeadInfo::Scores::kSoftmax, {"O", "A"}});
  v1::ClassifyTokensRequest request;
  for (const char* text : {"a", "b"}) request.add_inputs()->set_text(text);
  Start(&NewClassifyTokens, request);
  batcher_.Wait(1);
  EXPECT_THAT(heard_, ElementsAre("a", "b"));
  for (int i = 0; i < 2; ++i) {
    batcher_.Wait(i).observer->OnDone(absl::CancelledError("enough"));
  }
  transport_.WaitForFinish();
}

TEST_F(BoundsTest, ResultsOfACancelledCallAreNotConverted) {
  AddEncoder({HeadKind::kClassify, HeadInfo::Scores::kNone, {"a"}});
  v1::ClassifyRequest request;
  request.add_inputs()->set_text("a");
  Start(&NewClassify, request);
  std::promise<void> go;
  delivery_.Run({0, &go}, 0, [&go] { go.get_future().wait(); });
  RequestResult result;
  result.logits = {1};
  batcher_.Wait(0).observer->OnDone(std::move(result));
  handler_->OnCancel();
  go.set_value();
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
  EXPECT_EQ(transport_.written(), 0);
}

}  // namespace
}  // namespace trivium
