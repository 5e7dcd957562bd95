// Protected spans: placeholders, other placeholders, pieces.
#include <algorithm>

#include "server/batching/request_cost.h"
#include "server/calls/call.h"
#include "server/calls/call_translation.h"
#include "server/calls/convert/convert.h"
#include "tests/server/calls/translate_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class ProtectTest : public TranslateTest {
 protected:
  ProtectTest() {
    options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
    options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_URL);
  }

  // Request i reads `source`, and its hypotheses are `translations`.
  void Expect(size_t i, const std::string& source,
              const std::vector<std::string>& translations) {
    EXPECT_EQ(TextOf(batcher_.Wait(i)), source);
    Answer(i, translations);
  }
};

TEST_F(ProtectTest, TheModelReadsPlaceholders) {
  options()->set_sentences(true);
  Start({" Open %s for %d. Äh, see https://a.b/c?day. Now! \n"});
  Expect(0, "Open <x1> for <x2>.", {"Für <x2> <x1> öffnen."});
  Expect(1, "Äh, see <x1>.", {"Siehe <x1>."});
  Expect(2, "Now!", {"Jetzt!"});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(),
            " Für %d %s öffnen. Siehe https://a.b/c?day. Jetzt! \n");
  EXPECT_EQ(result.unkept_size(), 0);
  ASSERT_EQ(result.sentences_size(), 3);
  // Of the original text.
  EXPECT_EQ(result.sentences(1).source().byte_begin(), 17);
  EXPECT_EQ(result.sentences(1).source().byte_end(), 44);
  EXPECT_EQ(result.sentences(1).source().char_end(), 43);
}

TEST_F(ProtectTest, AnotherStyleIsTriedWhereOneIsLostOrDoubled) {
  Start({"Open %s.", "Close %s.", "Plain."});
  Expect(2, "Plain.", {"Schlicht."});
  Expect(0, "Open <x1>.", {"Öffnen."});
  Expect(1, "Close <x1>.", {"<x1> und <x1> schließen."});
  Expect(3, "Open {1}.", {"{1} öffnen."});
  Expect(4, "Close {1}.", {"{1} schließen."});
  Result();
  const auto response = transport_.Response<v1::TranslateResponse>(0);
  EXPECT_EQ(response.results(0).hypotheses(0).text(), "%s öffnen.");
  EXPECT_EQ(response.results(1).hypotheses(0).text(), "%s schließen.");
  EXPECT_EQ(response.results(2).hypotheses(0).text(), "Schlicht.");
  EXPECT_EQ(batcher_.count(), 5);
}

TEST_F(ProtectTest, AtLastPiecesAreTranslatedByThemselves) {
  options()->set_sentences(true);
  Start({"Oh. Open %s for %d (%s)!"});
  Expect(0, "Oh.", {"Ach."});
  Expect(1, "Open <x1> for <x2> (<x3>)!", {"Öffnen!"});
  Expect(2, "Open {1} for {2} ({3})!", {"Öffnen!"});
  Expect(3, "Open %1 for %2 (%3)!", {"Öffnen!"});
  Expect(4, "Open", {"Öffne"});
  Expect(5, "for", {"für"});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "Ach. Öffne %s für %d (%s)!");
  EXPECT_EQ(result.hypotheses(0).token_count(), 4 + 6 + 4);
  EXPECT_EQ(result.unkept_size(), 0);
  EXPECT_EQ(result.sentence_count(), 2);
  EXPECT_EQ(result.cut_count(), 0);
  EXPECT_EQ(result.sentences(1).targets(0).byte_begin(), 5);
}

// All together they might be more than the queue takes.
TEST_F(ProtectTest, PiecesAreTranslatedInRoundsOfBoundedTokens) {
  constexpr size_t kInputs = 12, kPieces = kInputs * 5;
  options()->mutable_decoding()->set_beam_size(16);
  Start(std::vector<std::string>(kInputs, "ab %s ab %s ab %s ab %s ab"));
  int64_t first_round = 0;
  for (size_t i = 0; i < kInputs; ++i) {
    first_round += TokensOf(batcher_.Wait(i));
  }
  size_t next = 0;
  for (; next < 3 * kInputs; ++next) Answer(next, {"Weg."});
  const int64_t tokens = TokensOf(batcher_.Wait(next));
  const int64_t limit =
      std::max(first_round, CallTranslation::kLeastRoundTokens);
  const auto most = static_cast<size_t>(limit / tokens);
  ASSERT_LT(most, kPieces);
  batcher_.Wait(next + most - 1);
  EXPECT_EQ(batcher_.count(), next + most);
  for (size_t i = 0; i < kPieces; ++i) Answer(next + i, {"AB"});
  for (size_t i = 0; i < kInputs; ++i) {
    EXPECT_EQ(Result(static_cast<int>(i)).hypotheses(0).text(),
              "AB %s AB %s AB %s AB %s AB");
  }
  EXPECT_EQ(batcher_.count(), next + kPieces);
}

TEST_F(ProtectTest, WithoutPiecesItSaysWhatIsMissing) {
  options()->mutable_protect()->set_pieces(false);
  Start({"Äh. Open %s for %d."});
  Expect(0, "Äh.", {"Äh."});
  Expect(1, "Open <x1> for <x2>.", {"Öffnen."});
  Expect(2, "Open {1} for {2}.", {"{1} für {1} öffnen.", "{1}"});
  Expect(3, "Open %1 for %2.", {"%1 öffnen."});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "Äh. %s öffnen.");
  ASSERT_EQ(result.unkept_size(), 1);
  const v1::UnkeptSpan& unkept = result.unkept(0);
  EXPECT_EQ(unkept.text(), "%d");
  EXPECT_EQ(unkept.count(), 0);
  EXPECT_EQ(unkept.hypothesis(), 0);
  EXPECT_EQ(unkept.source().byte_begin(), 17);
  EXPECT_EQ(unkept.source().char_begin(), 16);
  EXPECT_EQ(unkept.source().char_end(), 18);
}

TEST_F(ProtectTest, ASpanThatTheModelMakesUpCounts) {
  Start({"Open %s."});
  Expect(0, "Open <x1>.", {"<x1> mit %s öffnen."});
  Expect(1, "Open {1}.", {"{1} öffnen."});
  EXPECT_EQ(Result().hypotheses(0).text(), "%s öffnen.");
}

TEST_F(ProtectTest, APlaceholderThatNoSpanHasCounts) {
  Start({"Open %s."});
  Expect(0, "Open <x1>.", {"<x1> mit <x2> öffnen."});
  Expect(1, "Open {1}.", {"{1} öffnen."});
  EXPECT_EQ(Result().hypotheses(0).text(), "%s öffnen.");
}

TEST_F(ProtectTest, EveryHypothesisIsLookedAt) {
  options()->mutable_decoding()->set_num_hypotheses(2);
  Start({"Open %s."});
  Expect(0, "Open <x1>.", {"<x1> öffnen.", "Öffnen."});
  Expect(1, "Open {1}.", {"{1} auf.", "Öffne {1}."});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "%s auf.");
  EXPECT_EQ(result.hypotheses(1).text(), "Öffne %s.");
}

TEST_F(ProtectTest, NoModelIsAskedWhereNothingElseHasLetters) {
  Start({" %s: %d \n", "https://a.b. %s!"});
  EXPECT_EQ(Result(0).hypotheses(0).text(), " %s: %d \n");
  EXPECT_EQ(Result(1).hypotheses(0).text(), "https://a.b. %s!");
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(ProtectTest, BordersOfSentencesAreInNoSpan) {
  options()->mutable_protect()->add_patterns("<!--(?s:.*?)-->");
  Start({"One <!-- Two! Three.\nFour --> five. Six."});
  Expect(0, "One <x1> five.", {"Eins <x1> fünf."});
  Expect(1, "Six.", {"Sechs."});
  EXPECT_EQ(Result().hypotheses(0).text(),
            "Eins <!-- Two! Three.\nFour --> fünf. Sechs.");
}

TEST_F(ProtectTest, ALongSentenceIsNotCutInASpan) {
  const std::string url = "https://a.b/" + std::string(200, 'c');
  const std::string a(40, 'a'), b(40, 'b');
  Start({a + " " + url + " " + b});
  Expect(0, a + " <x1>", {"A <x1>"});
  Expect(1, b, {"B"});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "A " + url + " B");
  EXPECT_EQ(result.cut_count(), 2);
}

TEST_F(ProtectTest, TextsThatAreNotSplitAreProtectedToo) {
  options()->set_split(v1::SPLIT_NONE);
  Start({" One %s. Two.\n"});
  Expect(0, "One <x1>. Two.", {"Eins <x1>. Zwei."});
  EXPECT_EQ(Result().hypotheses(0).text(), " Eins %s. Zwei.\n");
}

TEST_F(ProtectTest, AFullQueueRefusesWhatIsTriedAgain) {
  Start({"Open %s."});
  batcher_.Wait(0);
  batcher_.Refuse({absl::ResourceExhaustedError("full")});
  Expect(0, "Open <x1>.", {"Öffnen."});
  EXPECT_TRUE(absl::IsResourceExhausted(transport_.WaitForFinish().status));
}

TEST_F(ProtectTest, WhatWouldBeIgnoredIsRefused) {
  request_.add_inputs()->mutable_ids()->add_ids(5);
  EXPECT_THAT(Refused(), ErrorAt("options.protect"));
}

TEST_F(ProtectTest, NothingToProtectIsRefused) {
  request_.add_inputs()->set_text("a");
  options()->mutable_protect()->clear_kinds();
  EXPECT_THAT(Refused(), ErrorAt("options.protect"));
}

TEST_F(ProtectTest, ABadPatternIsRefused) {
  request_.add_inputs()->set_text("a");
  options()->mutable_protect()->add_patterns("(");
  EXPECT_THAT(Refused(), ErrorAt("options.protect.patterns"));
}

TEST_F(ProtectTest, AnUnknownKindIsRefused) {
  request_.add_inputs()->set_text("a");
  options()->mutable_protect()->add_kinds(static_cast<v1::ProtectedKind>(99));
  EXPECT_THAT(Refused(), ErrorAt("options.protect.kinds[2]"));
}

TEST_F(ProtectTest, KindsAreNamedOnce) {
  for (int i = 0; i < 8; ++i) {
    options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_URL);
  }
  EXPECT_EQ(
      Refused(),
      "options.protect.kinds: has 10 values, but only 8 exist; give each once");
}

TEST_F(ProtectTest, AKindThatIsNamedTwiceIsLookedForOnce) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  Start({"Open %s."});
  Expect(0, "Open <x1>.", {"<x1> öffnen."});
  EXPECT_EQ(Result().unkept_size(), 0);
}

TEST_F(ProtectTest, APatternThatTakesTooLongIsRefused) {
  for (int i = 0; i < 16; ++i) {
    options()->mutable_protect()->add_patterns("[ab]*a[ab]{1000}");
  }
  std::string text;
  uint32_t random = 1;
  for (int i = 0; i < 100'000; ++i) {
    random = random * 1664525 + 1013904223;
    text += random >> 31 ? 'a' : 'b';
  }
  request_.add_inputs()->set_text(text);
  EXPECT_THAT(Refused(), ErrorAt("options.protect.patterns"));
}

// `%d ` becomes `<x10> `, so the text is longer than a text may be.
TEST_F(ProtectTest, ATextIsDividedIfPlaceholdersMakeItTooLong) {
  environment_.limits.max_text_bytes = 200;
  std::string text;
  while (text.size() < 190) text += "%d a ";
  Start({text});
  WaitFor(&tokenizing_);
  const size_t parts = batcher_.count();
  EXPECT_GT(parts, 1);
  for (size_t i = 0; i < parts; ++i) {
    Answer(i, {TextOf(batcher_.Wait(i))});
  }
  EXPECT_EQ(Result().hypotheses(0).text(), text);
}

TEST_F(ProtectTest, ATextThatIsNotDividedIsRefusedForThem) {
  environment_.limits.max_text_bytes = 200;
  options()->set_split(v1::SPLIT_NONE);
  std::string text;
  while (text.size() < 190) text += "%d a ";
  request_.add_inputs()->set_text(text);
  EXPECT_THAT(Refused(), AllOf(ErrorAt("inputs[0].text"),
                               HasSubstr("with a placeholder for each")));
}

TEST_F(ProtectTest, PatternsAreCompiledOnThePool) {
  options()->mutable_protect()->add_patterns("a");
  EXPECT_GT(TextBytes(*options()), kInlineTextBytes);
}

TEST_F(ProtectTest, ALongPatternIsRefused) {
  request_.add_inputs()->set_text("a");
  options()->mutable_protect()->add_patterns(std::string(513, 'a'));
  EXPECT_THAT(Refused(), ErrorAt("patterns[0]"));
}

TEST_F(ProtectTest, WhatIsOfOneSearchIsRefused) {
  request_.add_inputs()->set_text("a");
  options()->mutable_cross_attention();
  EXPECT_THAT(Refused(), ErrorAt("options.cross_attention"));
}

TEST_F(ProtectTest, ATargetPrefixIsRefused) {
  request_.add_inputs()->set_text("a");
  request_.mutable_inputs(0)->set_target_prefix("b");
  EXPECT_THAT(Refused(), ErrorAt("inputs[0].target_prefix"));
}

// Items of a stream, of which one is tried again while the queue is full.
class ProtectStreamTest : public ProtectTest {
 protected:
  void StartStream() {
    v1::TranslateStreamRequest start;
    *start.mutable_start()->mutable_options() = *options();
    handler_ = NewTranslateStream(environment_, {}, &transport_);
    handler_->Start();
    transport_.WaitForReads(1);
    transport_.Bring(start);
    handler_->OnRead(true);
  }
  void SendItem(const std::string& id, const std::string& text) {
    transport_.WaitForReads(++items_ + 1);
    v1::TranslateStreamRequest message;
    message.mutable_item()->set_id(id);
    message.mutable_item()->mutable_input()->set_text(text);
    transport_.Bring(message);
    handler_->OnRead(true);
  }

  int items_ = 0;
};

TEST_F(ProtectStreamTest, ItemsAreTriedAgain) {
  StartStream();
  SendItem("a", "Open %s.");
  Expect(0, "Open <x1>.", {"Öffnen."});
  Expect(1, "Open {1}.", {"{1} öffnen."});
  const auto response = transport_.Response<v1::TranslateStreamResponse>(0);
  EXPECT_EQ(response.id(), "a");
  EXPECT_EQ(response.result().hypotheses(0).text(), "%s öffnen.");
  handler_->OnWritten(true);
  transport_.WaitForReads(3);
  handler_->OnRead(false);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(ProtectStreamTest, ItemsThatAreTriedAgainWaitForRoom) {
  StartStream();
  SendItem("a", "Open %s.");
  batcher_.Wait(0);
  transport_.WaitForReads(3);
  batcher_.Refuse({absl::ResourceExhaustedError("full")});
  Expect(0, "Open <x1>.", {"Öffnen."});
  WaitForDelivery();
  // The client has sent all, and the stream still owes an answer.
  handler_->OnRead(false);
  Tick();
  EXPECT_FALSE(transport_.finished());
  batcher_.Refuse({});
  Tick();
  Expect(1, "Open {1}.", {"{1} öffnen."});
  EXPECT_EQ(transport_.Response<v1::TranslateStreamResponse>(0)
                .result()
                .hypotheses(0)
                .text(),
            "%s öffnen.");
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(ProtectStreamTest, AStreamThatIsCancelledLeavesThem) {
  StartStream();
  SendItem("a", "Open %s.");
  batcher_.Wait(0);
  transport_.WaitForReads(3);
  batcher_.Refuse({absl::ResourceExhaustedError("full")});
  Expect(0, "Open <x1>.", {"Öffnen."});
  WaitForDelivery();
  handler_->OnCancel();
  handler_->OnRead(false);
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
}

}  // namespace
}  // namespace trivium
