#include "server/calls/load_reports.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

LoadReports::Sample At(int second) {
  return {.time = absl::FromUnixSeconds(1'000'000 + second),
          .cpu = absl::ZeroDuration(),
          .load = {}};
}

LoadReports::Sample Busy() {
  LoadReports::Sample sample = At(2);
  sample.cpu = absl::Seconds(6);
  sample.load = {.calls = 40,
                 .errors = 4,
                 .started = 50,
                 .queue_seconds = 5,
                 .waiting = 7,
                 .blocks_used = 30,
                 .blocks = 40,
                 .memory = 600,
                 .memory_limit = 800};
  return sample;
}

TEST(ReportLoadTest, TellsTheLoadBetweenTwoSamples) {
  const xds::OrcaLoadReport report = ReportLoad(At(0), Busy(), /*cores=*/4);
  EXPECT_EQ(report.cpu_utilization(), 0.75);
  EXPECT_EQ(report.mem_utilization(), 0.75);
  EXPECT_EQ(report.rps_fractional(), 20);
  EXPECT_EQ(report.eps(), 2);
  EXPECT_EQ(report.named_metrics().at("kv_cache_usage_perc"), 0.75);
  EXPECT_EQ(report.named_metrics().at("num_requests_waiting"), 7);
  EXPECT_EQ(report.named_metrics().at("queue_wait_seconds"), 0.1);
}

// The differences are zero at the beginning and while nothing happens, and they
// would be negative after a model was unloaded.
TEST(ReportLoadTest, NeverTellsInfinityOrNotANumber) {
  LoadReports::Sample later = At(5);
  later.cpu = absl::Seconds(6);
  for (const auto& [from, to] :
       {std::pair(At(0), At(0)), std::pair(Busy(), Busy()),
        std::pair(Busy(), later)}) {
    const xds::OrcaLoadReport report = ReportLoad(from, to, 4);
    EXPECT_EQ(report.cpu_utilization(), 0);
    EXPECT_EQ(report.rps_fractional(), 0);
    EXPECT_EQ(report.eps(), 0);
    EXPECT_EQ(report.named_metrics().at("queue_wait_seconds"), 0);
  }
}

TEST(LoadReportsTest, SpeaksTheFormatsThatBalancersRead) {
  LoadReports reports(/*all=*/true, /*cores=*/4, At(0));
  reports.Record(Busy());
  const auto bin = reports.ForGrpc("");
  ASSERT_TRUE(bin);
  EXPECT_EQ(bin->first, "endpoint-load-metrics-bin");
  xds::OrcaLoadReport report;
  ASSERT_TRUE(report.ParseFromString(bin->second));
  EXPECT_EQ(report.cpu_utilization(), 0.75);

  const auto text = reports.ForHttp("TEXT");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->first, "endpoint-load-metrics");
  EXPECT_THAT(text->second,
              StartsWith("TEXT cpu_utilization=0.7500, mem_utilization=0.7500, "
                         "rps_fractional=20.00, eps=2.00, named_metrics."));
  EXPECT_THAT(text->second,
              HasSubstr(", named_metrics.queue_wait_seconds=0.1000"));

  const std::string json = reports.ForHttp("json")->second;
  ASSERT_THAT(json, StartsWith("JSON {"));
  xds::OrcaLoadReport read;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(json.substr(5), &read).ok());
  EXPECT_EQ(read.DebugString(), report.DebugString());
  EXPECT_THAT(json, HasSubstr("\"cpu_utilization\":0.75"));

  std::string bytes;
  const std::string base64 = reports.ForHttp("bin")->second;
  ASSERT_THAT(base64, StartsWith("BIN "));
  ASSERT_TRUE(absl::Base64Unescape(base64.substr(4), &bytes));
  EXPECT_EQ(bytes, bin->second);
  // A client that asked for no format gets JSON, which Envoy reads.
  EXPECT_EQ(reports.ForHttp("")->second, json);
}

TEST(LoadReportsTest, ReportsOnlyToClientsThatAskUnlessAllGetReports) {
  const LoadReports reports(/*all=*/false, /*cores=*/4, At(0));
  EXPECT_FALSE(reports.ForGrpc(""));
  EXPECT_TRUE(reports.ForGrpc("text"));
  EXPECT_FALSE(reports.ForHttp(""));
  EXPECT_FALSE(reports.ForHttp("xml"));
  EXPECT_THAT(reports.ForHttp("json")->second,
              HasSubstr("\"cpu_utilization\":0"));
}

}  // namespace
}  // namespace trivium
