// TranslateDocument without gRPC.
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/limits/byte_account.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

class TranslateDocumentTest : public HandlersTest {
 protected:
  using Request = v1::TranslateDocumentRequest;

  void Send(const Request& message) {
    transport_.WaitForReads(++sent_);
    transport_.Bring(message);
    handler_->OnRead(true);
  }
  void Open(const std::string& format = "text",
            const v1::TranslateOptions& options = {}) {
    CallContext context;
    context.held = std::make_shared<CallBytes>(&account_);
    handler_ =
        NewTranslateDocument(environment_, std::move(context), &transport_);
    handler_->Start();
    Request message;
    message.mutable_start()->set_format(format);
    *message.mutable_start()->mutable_options() = options;
    Send(message);
  }
  void SendData(const std::string& bytes) {
    Request message;
    message.set_data(bytes);
    Send(message);
  }
  void SendKnown(const std::string& text, const std::string& translation) {
    Request message;
    message.mutable_known()->set_text(text);
    message.mutable_known()->set_translation(translation);
    Send(message);
  }
  void HalfClose() {
    transport_.WaitForReads(++sent_);
    handler_->OnRead(false);
  }
  // Reads responses until the result, which it returns.
  v1::DocumentResult ReadAll() {
    for (size_t i = 0;; ++i) {
      const auto message =
          transport_.Response<v1::TranslateDocumentResponse>(i);
      handler_->OnWritten(true);
      bytes_ += message.data();
      if (message.has_result()) return message.result();
    }
  }

  ByteAccount account_;
  int sent_ = 0;
  std::string bytes_;  // the translated document
};

TEST_F(TranslateDocumentTest, ADocumentComesInPiecesAndGoesBackWhole) {
  Open();
  SendData("Good mor");
  SendData("ning.\n\nGood night.\n");
  HalfClose();
  batcher_.Answer(0);
  batcher_.Answer(1);
  const v1::DocumentResult result = ReadAll();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(bytes_, "Good morning.\n\nGood night.\n");
  EXPECT_EQ(result.text_count(), 2);
  EXPECT_EQ(result.untranslated_count(), 0);
}

TEST_F(TranslateDocumentTest,
       OfADocumentInTheTargetLanguageOnlySureTextsInOthersAreTranslated) {
  constexpr char kEnglish[] = "The cat sat on the mat and slept.";
  std::string german;
  for (const char* const animal : {"Katze", "Ente", "Kuh", "Maus", "Ziege"}) {
    german += "Die " + std::string(animal) +
              " liegt heute nicht unter dem Tisch, sondern im Garten.\n";
  }
  v1::TranslateOptions options;
  options.set_source_language("auto");
  options.set_target_language("de");
  Open("text", options);
  SendData(german + kEnglish + "\nOK\nКошка сидит на ковре.\n");
  HalfClose();
  EXPECT_EQ(PuppetTokenizer().Decode(batcher_.Wait(0).source.ids), kEnglish);
  batcher_.Answer(0);
  const v1::DocumentResult result = ReadAll();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(batcher_.count(), 1);
  EXPECT_EQ(bytes_, german + kEnglish + "\nOK\nКошка сидит на ковре.\n");
  EXPECT_EQ(result.untranslated_count(), 0);
  EXPECT_EQ(result.detected_languages(0).language(), "de");
}

TEST_F(TranslateDocumentTest, ATextThatFailsStaysAndIsNamed) {
  Open();
  SendData("Good morning.\n\nGood night.\n");
  HalfClose();
  batcher_.Answer(0);
  batcher_.Wait(1).observer->OnDone(absl::InternalError("the engine failed"));
  const v1::DocumentResult result = ReadAll();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(bytes_, "Good morning.\n\nGood night.\n");
  EXPECT_EQ(result.untranslated_count(), 1);
  ASSERT_EQ(result.notes_size(), 1);
  EXPECT_EQ(result.notes(0).place(), "line 3");
  EXPECT_EQ(result.notes(0).error().message(), "the engine failed");
}

TEST_F(TranslateDocumentTest, ATextThatTheQueueRefusesIsNamedByItsPlace) {
  batcher_.Refuse({absl::InvalidArgumentError("it is too long"), 0});
  Open();
  SendData("Good morning.\n");
  HalfClose();
  const v1::DocumentResult result = ReadAll();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(bytes_, "Good morning.\n");
  ASSERT_EQ(result.notes_size(), 1);
  EXPECT_EQ(result.notes(0).place(), "line 1");
  EXPECT_TRUE(result.notes(0).error().message().starts_with("line 1"))
      << result.notes(0).error().message();
}

// If one text's end began the next within it, the stack would not suffice.
TEST_F(TranslateDocumentTest, AnyNumberOfTextsThatNeedNoModel) {
  constexpr int kTexts = 100'000;
  std::string document;
  for (int i = 0; i < kTexts; ++i) document += std::to_string(i) + "\n";
  Open();
  SendKnown("known", "bekannt");
  SendData("known\n" + document);
  HalfClose();
  const v1::DocumentResult result = ReadAll();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(bytes_, "bekannt\n" + document);
}

TEST_F(TranslateDocumentTest, MessagesInAnotherOrderAreRefused) {
  handler_ = NewTranslateDocument(environment_, {}, &transport_);
  handler_->Start();
  SendData("x");
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument, "start"));
}

TEST_F(TranslateDocumentTest, KnownTextsComeBeforeTheData) {
  Open();
  SendData("x");
  SendKnown("x", "y");
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument, "known"));
}

TEST_F(TranslateDocumentTest, ADocumentHasABound) {
  environment_.limits.max_request_bytes = 10;
  Open();
  SendData(std::string(100, 'x'));
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument, "data"));
}

TEST_F(TranslateDocumentTest, KnownTextsCountInThatBound) {
  environment_.limits.max_request_bytes = 10;
  Open();
  SendKnown("x", std::string(100, 'x'));
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument, "known"));
}

TEST_F(TranslateDocumentTest, KnownTextsAndTranslationsAreHeld) {
  const std::string long_text(10'000, 'y');
  Open();
  SendKnown("x", long_text);
  SendKnown("z", "");
  transport_.WaitForReads(sent_ + 1);
  EXPECT_GT(account_.bytes(Held::kRequests), 10'000 + 2 * 100);
  SendData("x\n");
  HalfClose();
  ReadAll();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(bytes_, long_text + "\n");
  // The text's, and the document's.
  EXPECT_GE(account_.bytes(Held::kResults), 20'000);
}

TEST_F(TranslateDocumentTest, AClientThatLeavesEndsTheCall) {
  Open();
  SendData("Good morning.\n\nGood night.\n");
  HalfClose();
  batcher_.Wait(1);
  handler_->OnCancel();
  handler_->OnWritten(false);  // the first progress is on its way
  batcher_.Answer(0);
  batcher_.Answer(1);
  EXPECT_FALSE(transport_.WaitForFinish().status.ok());
}

}  // namespace
}  // namespace trivium
