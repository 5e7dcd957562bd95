// The API in this process, as other programs have it (library/engine.h), with
// the embedded model.
#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/cpu_limits.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "library/engine.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using Code = absl::StatusCode;

constexpr char kFolder[] = "model/embedded";

LocalEngine::Options Small() {
  LocalEngine::Options options;
  options.models = {{.folder = kFolder, .name = "embedded"}};
  options.workers = 1;
  options.worker_threads = 2;
  options.kv_cache_bytes = 4 << 20;
  return options;
}

v1::TranslateRequest ToGerman(const std::string& text) {
  v1::TranslateRequest request;
  request.mutable_options()->set_target_language("de");
  request.add_inputs()->set_text(text);
  return request;
}

v1::GenerateRequest Generate(int tokens) {
  v1::GenerateRequest request;
  request.set_target_language("de");
  request.mutable_input()->set_text("The cat sleeps on the table.");
  request.mutable_decoding()->set_max_new_tokens(tokens);
  request.mutable_decoding()->set_min_new_tokens(tokens);
  return request;
}

class LocalEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    engine_ = LocalEngine::Create(Small()).value().release();
  }
  static void TearDownTestSuite() { delete engine_; }

  static LocalEngine* engine_;
};
LocalEngine* LocalEngineTest::engine_ = nullptr;

TEST_F(LocalEngineTest, AnswersLikeAServer) {
  const auto translated = engine_->Translate(
      ToGerman("This is a house.\nThat is a very long street."));
  ASSERT_TRUE(translated.ok()) << translated.status();
  EXPECT_EQ(translated->results(0).sentence_count(), 2u);
  EXPECT_THAT(translated->results(0).hypotheses(0).text(),
              AllOf(HasSubstr("Haus"), HasSubstr("\n")));
  v1::EncodeRequest encode;
  encode.set_target_language("de");
  encode.add_inputs()->set_text("A house.");
  const auto encoded = engine_->Encode(encode);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  const auto model = engine_->GetModel("");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->name(), "embedded");
  EXPECT_EQ(model->kv_cache_bytes(), 4u << 20);
  EXPECT_EQ(engine_->ListModels()->models_size(), 1);
}

TEST_F(LocalEngineTest, RefusesLikeAServer) {
  v1::TranslateRequest request = ToGerman("A house.");
  request.mutable_options()->mutable_decoding()->set_beam_size(17);
  EXPECT_THAT(engine_->Translate(request),
              IsError(Code::kInvalidArgument, "options.decoding.beam_size"));
  request.set_model("another");
  EXPECT_EQ(engine_->Translate(request).status().code(), Code::kNotFound);
}

TEST_F(LocalEngineTest, AnswersCallsOfManyThreadsLikeThoseOfOne) {
  const auto text = [this](int i) {
    const auto response = engine_->Translate(
        ToGerman("I have " + std::to_string(i) + " red apples."));
    return response.ok() ? response->results(0).hypotheses(0).text()
                         : response.status().ToString();
  };
  std::vector<std::string> alone, together(8);
  for (int i = 0; i < 8; ++i) alone.push_back(text(i));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] { together[i] = text(i); });
    }
  }
  EXPECT_EQ(alone, together);
}

TEST_F(LocalEngineTest, StreamsAnAnswer) {
  int pieces = 0, done = 0;
  const std::thread::id caller = std::this_thread::get_id();
  const absl::Status status =
      engine_->Generate(Generate(8), [&](const v1::GenerateResponse& event) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        pieces += event.has_piece();
        done += event.has_done();
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GE(pieces, 1);
  EXPECT_EQ(done, 1);
}

TEST_F(LocalEngineTest, EndsTheCallOnAnErrorOfTheCallback) {
  int events = 0;
  const absl::Status status =
      engine_->Generate(Generate(200), [&](const v1::GenerateResponse&) {
        ++events;
        return absl::DataLossError("enough");
      });
  EXPECT_EQ(status, absl::DataLossError("enough"));
  EXPECT_EQ(events, 1);
}

TEST_F(LocalEngineTest, AStoppedCallIsCancelled) {
  std::stop_source stop;
  const absl::Status status = engine_->Generate(
      Generate(200),
      [&](const v1::GenerateResponse& event) {
        EXPECT_FALSE(event.has_done());
        stop.request_stop();
        return absl::OkStatus();
      },
      stop.get_token());
  EXPECT_EQ(status.code(), Code::kCancelled);
  // Before it began, too.
  EXPECT_EQ(
      engine_
          ->Generate(
              Generate(200),
              [](const v1::GenerateResponse&) { return absl::OkStatus(); },
              stop.get_token())
          .code(),
      Code::kCancelled);
}

TEST(LocalEngineOptionsTest, InvalidOptionsAreErrors) {
  LocalEngine::Options options = Small();
  options.models.push_back(options.models[0]);
  EXPECT_THAT(LocalEngine::Create(options),
              IsError(Code::kInvalidArgument, "'embedded'"));
  options.models = {};
  EXPECT_THAT(LocalEngine::Create(options),
              IsError(Code::kInvalidArgument, "models"));
  options = Small();
  options.models[0].precision = "f33";
  EXPECT_THAT(LocalEngine::Create(options),
              IsError(Code::kInvalidArgument, "'f33'"));
  options = Small();
  options.workers = -1;
  EXPECT_THAT(LocalEngine::Create(options),
              IsError(Code::kInvalidArgument, "workers"));
  options = Small();
  options.kv_cache_bytes = -1;
  EXPECT_THAT(LocalEngine::Create(options),
              IsError(Code::kInvalidArgument, "kv_cache_bytes"));
}

TEST(LocalEngineOptionsTest, PackedWeightsAreKept) {
  const TemporaryFolder folder;
  LocalEngine::Options options = Small();
  options.weights_cache = folder.path() + "/cache";
  std::string lines;
  Mutex mutex;
  options.log = [&](LocalEngine::Severity, std::string_view line) {
    const MutexLock lock(&mutex);
    lines.append(line).append("\n");
  };
  std::string answers[2];
  for (std::string& answer : answers) {
    const auto engine = LocalEngine::Create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    const auto translated = (*engine)->Translate(ToGerman("A small house."));
    ASSERT_TRUE(translated.ok()) << translated.status();
    answer = translated->results(0).hypotheses(0).text();
  }
  EXPECT_EQ(answers[0], answers[1]);
  const MutexLock lock(&mutex);
  const size_t mapped = lines.find("mapped");
  EXPECT_LT(lines.find("written"), mapped);
  EXPECT_NE(mapped, std::string::npos);
}

TEST(LocalEngineOptionsTest, DefaultsAreThoseOfTheServer) {
  LocalEngine::Options options;
  options.models = {{.folder = kFolder}};
  const auto engine = LocalEngine::Create(options);
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_TRUE((*engine)->Translate(ToGerman("A house.")).ok());
  const auto model = (*engine)->GetModel("");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_GT(model->kv_cache_bytes(), 0u);
  EXPECT_LE(model->kv_cache_bytes(), static_cast<uint64_t>(UsableMemory()) / 4);
}

TEST(LocalEngineOptionsTest, UsesTheProgramsThreadsAndLog) {
  LocalEngine::Options options = Small();
  std::atomic<int> running = 0;
  int made = 0;
  options.start_thread = [&](std::function<void()> run) {
    ++made;
    auto thread = std::make_shared<std::thread>([&running, run] {
      ++running;
      run();
      --running;
    });
    return [thread] { thread->join(); };
  };
  std::mutex mutex;
  std::vector<std::string> lines;
  options.log = [&](LocalEngine::Severity severity, std::string_view line) {
    std::lock_guard lock(mutex);
    EXPECT_EQ(severity, LocalEngine::Severity::kInfo);
    lines.emplace_back(line);
  };
  {
    const auto engine = LocalEngine::Create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_EQ(made, 2 + 5);  // 1 worker of 2 threads; what engine.h tells
    EXPECT_TRUE((*engine)->Translate(ToGerman("A house.")).ok());
  }
  EXPECT_EQ(running, 0);
  EXPECT_THAT(lines, Contains(HasSubstr("model loaded model=embedded")));
  EXPECT_THAT(lines, Each(testing::Not(HasSubstr("house"))));

  options.start_thread = [](std::function<void()>) { return nullptr; };
  EXPECT_EQ(LocalEngine::Create(options).status().code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace trivium
