#include "server/observability/metrics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::Not;

const ServedModel& EnDe() {
  static const ModelHandle model = ServedPuppet("en-de");
  return *model;
}
const ServedModel& DeEn() {
  static const ModelHandle model = ServedPuppet("de-en");
  return *model;
}

// Counts every figure at least once, so that each family is on the page.
std::unique_ptr<Metrics> Busy() {
  auto metrics = std::make_unique<Metrics>(2);
  metrics->AddModel(EnDe());
  metrics->AddModel(DeEn());
  metrics->OnCallStarted(Rpc::kTranslate);
  metrics->OnCallDone(Rpc::kTranslate, &EnDe(), absl::StatusCode::kOk,
                      absl::Milliseconds(3));
  metrics->OnCallStarted(Rpc::kEncode);
  metrics->OnCallDone(Rpc::kEncode, nullptr, absl::StatusCode::kNotFound,
                      absl::Milliseconds(1));
  metrics->OnTokens(EnDe(), 10, 20);
  metrics->OnTruncated(EnDe());
  metrics->OnRunning(1, EnDe(), 9);
  metrics->SetLimit("max-waiting-tokens", 1000);
  BatchingObserver::Iteration iteration{
      .model = EnDe(), .duration = {}, .phases = {}};
  iteration.encoder_rows = 7;
  iteration.decoder_rows = 33;
  iteration.padding_rows = 7;
  iteration.running = 9;
  iteration.duration = absl::Milliseconds(2);
  iteration.phases.encode = 0.5;
  metrics->OnIteration(iteration);
  metrics->OnSearch(EnDe(), absl::Milliseconds(250));
  metrics->OnQueued(DeEn(), 100, 3);
  metrics->OnStarted(EnDe(), Priority::kInteractive, absl::Milliseconds(1));
  metrics->OnSharedSource(EnDe());
  metrics->OnPrefixFound(EnDe(), 32);
  metrics->OnPrefixFound(EnDe(), 16);
  metrics->OnDrafted(EnDe(), 5, 3);
  metrics->OnFirstToken(EnDe(), absl::Milliseconds(4));
  metrics->OnNextToken(EnDe(), absl::Milliseconds(1));
  metrics->OnDeadlineMissed(EnDe(), "queued");
  metrics->OnRejected(DeEn(), "full");
  metrics->OnBlocks(1, EnDe(), 5, 64);
  metrics->OnCacheLookup(DeEn(), true);
  metrics->OnCacheLookup(DeEn(), false);
  metrics->OnCacheLookup(DeEn(), true);
  metrics->OnCacheSize(4096, 3);
  return metrics;
}

TEST(MetricsTest, CountsEvents) {
  const std::string text = Busy()->Text();
  for (const char* line :
       {"trivium_requests_total{code=\"OK\",model=\"en-de\",rpc="
        "\"Translate\"} 1\n",
        "trivium_requests_total{code=\"NOT_FOUND\",model=\"\",rpc="
        "\"Encode\"} 1\n",
        "trivium_tokens_total{kind=\"generated\",model=\"en-de\"} 20\n",
        "trivium_queue_tokens{model=\"de-en\"} 100\n",
        "trivium_texts_total{model=\"en-de\"} 1\n",
        "trivium_truncated_texts_total{model=\"en-de\"} 1\n",
        "trivium_input_tokens_bucket{model=\"en-de\",le=\"16\"} 1\n",
        "trivium_output_tokens_bucket{model=\"en-de\",le=\"16\"} 0\n",
        "trivium_running_requests{model=\"en-de\",worker=\"1\"} 9\n",
        "trivium_limit{limit=\"max-waiting-tokens\"} 1000\n",
        "trivium_errors_total{code=\"NOT_FOUND\",model=\"\"} 1\n",
        "trivium_deadlines_missed_total{model=\"en-de\",stage=\"queued\"} 1\n",
        "trivium_rejections_total{model=\"de-en\",reason=\"full\"} 1\n",
        "trivium_kv_blocks_used{model=\"en-de\",worker=\"1\"} 5\n",
        "trivium_kv_blocks_capacity{model=\"en-de\",worker=\"1\"} 64\n",
        "trivium_iteration_rows_bucket{model=\"en-de\",phase=\"decode\",le="
        "\"64\"} 1\n",
        "trivium_phase_seconds_total{model=\"en-de\",phase=\"encode\"} 0.5\n",
        "trivium_phase_seconds_total{model=\"en-de\",phase=\"search\"} 0.25\n",
        "trivium_prefix_hits_total{model=\"en-de\"} 2\n",
        "trivium_prefix_tokens_found_total{model=\"en-de\"} 48\n",
        "trivium_drafted_tokens_total{model=\"en-de\"} 5\n",
        "trivium_accepted_tokens_total{model=\"en-de\"} 3\n",
        "trivium_result_cache_hits_total{model=\"de-en\"} 2\n",
        "trivium_result_cache_misses_total{model=\"de-en\"} 1\n",
        "trivium_result_cache_bytes 4096\n",
        "trivium_result_cache_results 3\n",
        "trivium_batch_invariant{model=\"en-de\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  for (const char* name :
       {"process_resident_memory_bytes ", "process_cpu_seconds_total ",
        "process_start_time_seconds ", "process_open_fds ",
        "trivium_build_info{"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name));
  }
}

// An alert sees the first increase only if the series exists before. Series of
// events that never happen cost little.
TEST(MetricsTest, SeriesForAlertsExistFromTheStart) {
  Metrics metrics(1);
  metrics.AddModel(EnDe());
  const std::string text = metrics.Text();
  for (const char* reason : {"full", "late", "draining", "invalid"}) {
    EXPECT_THAT(text, HasSubstr("trivium_rejections_total{model=\"en-de\","
                                "reason=\"" +
                                std::string(reason) + "\"} 0\n"));
  }
  for (const char* code : {"INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}) {
    EXPECT_THAT(text, HasSubstr("trivium_errors_total{code=\"" +
                                std::string(code) + "\",model=\"en-de\"} 0\n"));
  }
  for (const char* action : {"paused", "refused", "shed"}) {
    EXPECT_THAT(text, HasSubstr("trivium_overload_actions_total{action=\"" +
                                std::string(action) + "\"} 0\n"));
  }
  for (const char* reason : {"evicted", "refused", "abuse", "old"}) {
    EXPECT_THAT(text, HasSubstr("trivium_connections_ended_total{reason=\"" +
                                std::string(reason) + "\"} 0\n"));
  }
  for (const char* result : {"sent", "dropped"}) {
    EXPECT_THAT(text, HasSubstr("trivium_trace_spans_total{result=\"" +
                                std::string(result) + "\"} 0\n"));
  }
  EXPECT_THAT(text, HasSubstr("trivium_running_requests{model=\"en-de\","
                              "worker=\"0\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("trivium_request_duration_seconds_")));
  EXPECT_THAT(text, Not(HasSubstr("trivium_requests_total{")));
  // The page as a whole stays small, histograms included.
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 420);
}

// A small model makes a token in a tenth of a millisecond.
TEST(MetricsTest, ShortTimesHaveTheirOwnBuckets) {
  const std::unique_ptr<Metrics> metrics = Busy();
  for (const int us : {40, 80, 130}) {
    metrics->OnNextToken(DeEn(), absl::Microseconds(us));
  }
  const std::string text = metrics->Text();
  for (const char* bucket :
       {"5e-05\"} 1\n", "0.0001\"} 2\n", "0.00025\"} 3\n"}) {
    EXPECT_THAT(text, HasSubstr("trivium_time_between_tokens_seconds_bucket{"
                                "model=\"de-en\",le=\"" +
                                std::string(bucket)));
  }
}

TEST(MetricsTest, EveryNameHasThePrefix) {
  std::istringstream lines(Busy()->Text());
  for (std::string line; std::getline(lines, line);) {
    if (line[0] != '#') {
      EXPECT_TRUE(line.rfind("trivium_", 0) == 0 ||
                  line.rfind("process_", 0) == 0)
          << line;
    }
  }
}

TEST(MetricsTest, PromtoolFindsNoFault) {
  ASSERT_EQ(std::system("command -v promtool > /dev/null"), 0)
      << "install promtool (Debian package prometheus)";
  FILE* promtool = popen("promtool check metrics", "w");
  ASSERT_NE(promtool, nullptr);
  const std::string text = Busy()->Text();
  std::fwrite(text.data(), 1, text.size(), promtool);
  EXPECT_EQ(pclose(promtool), 0);
}

// Later events of the removed model are not counted.
TEST(MetricsTest, ARemovedModelLeavesThePage) {
  const std::unique_ptr<Metrics> metrics = Busy();
  metrics->RemoveModel(EnDe());
  metrics->OnFirstToken(EnDe(), absl::Milliseconds(4));
  metrics->OnRejected(EnDe(), "invalid");
  metrics->OnCallStarted(Rpc::kTranslate);
  metrics->OnCallDone(Rpc::kTranslate, &EnDe(), absl::StatusCode::kOk,
                      absl::Milliseconds(3));
  EXPECT_THAT(metrics->Text(), Not(HasSubstr("en-de")));
  EXPECT_THAT(metrics->Text(), HasSubstr("de-en"));
  EXPECT_THAT(metrics->Text(), HasSubstr("requests_in_flight{rpc=\"Translate"
                                         "\"} 0\n"));
  // A newer model of the same name counts from zero, and stays when the older
  // one is destroyed.
  const ModelHandle newer = ServedPuppet("en-de");
  const ModelHandle newest = ServedPuppet("en-de");
  metrics->AddModel(*newer);
  metrics->AddModel(*newest);
  metrics->RemoveModel(*newer);
  metrics->OnTokens(*newest, 1, 2);
  EXPECT_THAT(metrics->Text(),
              HasSubstr("trivium_tokens_total{kind=\"generated\",model=\"en-de"
                        "\"} 2\n"));
}

TEST(MetricsTest, CountsEventsOfManyThreadsAtOnce) {
  Metrics metrics(1);
  metrics.AddModel(EnDe());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&metrics] {
      for (int k = 0; k < 500; ++k) {
        metrics.OnCallStarted(Rpc::kGenerate);
        metrics.OnCallDone(Rpc::kGenerate, &EnDe(), absl::StatusCode::kOk,
                           absl::Milliseconds(1));
        if (k % 100 == 0) metrics.Text();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(metrics.Text(), HasSubstr("rpc=\"Generate\"} 2000\n"));
}

}  // namespace
}  // namespace trivium
