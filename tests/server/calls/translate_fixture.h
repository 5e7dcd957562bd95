#ifndef TRIVIUM_TESTS_SERVER_CALLS_TRANSLATE_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_CALLS_TRANSLATE_FIXTURE_H_

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/server/calls/handlers_fixture.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The puppet's tokens of a text: a byte each.
inline std::vector<int32_t> IdsOf(std::string_view text) {
  std::vector<int32_t> ids;
  for (const char c : text) {
    ids.push_back(PuppetTokenizer::kFirst + static_cast<unsigned char>(c));
  }
  return ids;
}

// What a request reads, without special tokens.
inline std::string TextOf(const Request& request) {
  std::string text;
  for (const int32_t id : request.source.ids) {
    if (id >= PuppetTokenizer::kFirst) {
      text += static_cast<char>(id - PuppetTokenizer::kFirst);
    }
  }
  return text;
}

// Hypotheses that say these texts.
inline RequestResult Translated(const std::vector<std::string>& texts,
                                FinishReason reason = FinishReason::kEnd) {
  RequestResult result;
  for (const std::string& text : texts) {
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    hypothesis.ids = IdsOf(text);
    hypothesis.logprobs.resize(hypothesis.ids.size());
    hypothesis.reason = reason;
  }
  return result;
}

// One call of Translate, whose searches the test answers.
class TranslateTest : public HandlersTest {
 protected:
  v1::TranslateOptions* options() { return request_.mutable_options(); }
  void Start(const std::vector<std::string>& texts) {
    request_.clear_inputs();
    for (const std::string& text : texts) request_.add_inputs()->set_text(text);
    Start();
  }
  void Start() {
    transport_.Bring(request_);
    handler_ = NewTranslate(environment_, {}, &transport_);
    handler_->Start();
  }
  void Answer(size_t i, const std::vector<std::string>& texts) {
    batcher_.Wait(i).observer->OnDone(Translated(texts));
  }
  v1::TranslateResult Result(int input = 0) {
    const Ending ending = transport_.WaitForFinish();
    EXPECT_TRUE(ending.status.ok()) << ending.status;
    return transport_.Response<v1::TranslateResponse>(0).results(input);
  }
  // Of what request_ has; of a text where that is nothing.
  std::string Refused() {
    if (request_.inputs().empty()) request_.add_inputs()->set_text("a");
    Start();
    return MessageOf(transport_.WaitForFinish());
  }

  v1::TranslateRequest request_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_CALLS_TRANSLATE_FIXTURE_H_
