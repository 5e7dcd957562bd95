#ifndef TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_STAGE_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_STAGE_FIXTURE_H_

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/translation/pipeline/stage.h"
#include "tests/server/translation/pipeline/byte_model.h"

namespace trivium {

// A stage by itself: the test is the pipeline.
class StageTest : public testing::Test {
 protected:
  // A job with the whole text as its part.
  static TranslationJob Opened(const Stage& stage, std::string text) {
    TranslationJob job;
    job.path = "inputs[0]";
    job.text.split = true;
    job.text.text = std::move(text);
    const absl::Status status = stage.Open(&job);
    EXPECT_TRUE(status.ok()) << status;
    job.text.parts.push_back(
        {{0, job.text.text.size()}, false, job.protected_spans});
    job.best.resize(1);
    return job;
  }

  // The attempt at part 0 as the stage wants it; its texts are read.
  static Attempt Before(const Stage& stage, const TranslationJob& job,
                        Attempt attempt = {}) {
    const TextSpan span = job.read_part(attempt).span;
    attempt.readings = {{span, std::string(span.Of(job.read().text))}};
    const absl::Status status = stage.Before(job, &attempt);
    EXPECT_TRUE(status.ok()) << status;
    return attempt;
  }
  static std::vector<std::string> ReadTexts(const Attempt& attempt) {
    std::vector<std::string> texts;
    for (const Reading& reading : attempt.readings) {
      texts.push_back(reading.text);
    }
    return texts;
  }

  // A candidate of these hypotheses, after the stage.
  static TranslationCandidate After(const Stage& stage,
                                    const TranslationJob& job,
                                    const Attempt& attempt,
                                    const std::vector<std::string>& texts) {
    TranslationCandidate candidate;
    for (const std::string& text : texts) {
      candidate.translation.hypotheses.emplace_back().text = text;
    }
    candidate.alignments.resize(texts.size());
    const absl::Status status = stage.After(job, attempt, &candidate);
    EXPECT_TRUE(status.ok()) << status;
    return candidate;
  }
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_STAGE_FIXTURE_H_
