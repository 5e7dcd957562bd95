#include "server/options.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace trivium {
namespace {

using testing::HasSubstr;

class OptionsTest : public testing::Test {
 protected:
  Options Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "trivium-server");
    exit_code_.reset();
    return ParseOptions(static_cast<int>(arguments.size()), arguments.data(),
                        &exit_code_);
  }
  void TearDown() override {
    unsetenv("TRIVIUM_WORKERS");
    unsetenv("TRIVIUM_MODEL");
    unsetenv("TRIVIUM_TRUNCATE");
  }

  std::optional<int> exit_code_;
};

TEST_F(OptionsTest, Defaults) {
  const Options options = Parse({});
  EXPECT_FALSE(exit_code_);
  EXPECT_EQ(options.listen, "127.0.0.1:50051");
  EXPECT_EQ(options.metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(options.limits.max_request_bytes, 4 << 20);
  EXPECT_EQ(options.kv_cache_bytes, 256 << 20);
  EXPECT_EQ(options.result_cache_bytes, 0);
  EXPECT_TRUE(options.models.empty());
}

TEST_F(OptionsTest, ReadsFlags) {
  const Options options = Parse({"--model",
                                 "a=/x",
                                 "--model",
                                 "b=/y,z,precision=f32",
                                 "--precision",
                                 "int8",
                                 "--max-isa",
                                 "avx512",
                                 "--workers",
                                 "3",
                                 "--worker-threads",
                                 "2",
                                 "--kv-cache-bytes",
                                 "64MiB",
                                 "--drain-timeout",
                                 "1.5",
                                 "--result-cache-bytes",
                                 "3MiB",
                                 "--max-queue-wait",
                                 "2.5",
                                 "--client-key-header",
                                 "X-Api-Key",
                                 "--truncate",
                                 "--vocabulary-shortlist",
                                 "--log-format",
                                 "json",
                                 "--metrics-listen",
                                 "off"});
  ASSERT_FALSE(exit_code_);
  EXPECT_THAT(options.models,
              testing::ElementsAre(ModelSpec{"a", "/x", std::nullopt},
                                   ModelSpec{"b", "/y,z", Precision::kF32}));
  EXPECT_EQ(options.precision, Precision::kInt8);
  EXPECT_EQ(options.max_isa, Isa::kAvx512);
  EXPECT_EQ(options.workers, 3);
  EXPECT_EQ(options.worker_threads, 2);
  EXPECT_FALSE(Parse({}).workers);
  EXPECT_FALSE(Parse({"--workers", "auto"}).workers);
  EXPECT_EQ(options.kv_cache_bytes, 64 << 20);
  EXPECT_EQ(options.max_queue_wait, absl::Seconds(2.5));
  EXPECT_EQ(options.limits.client_key_header, "x-api-key");
  EXPECT_EQ(options.result_cache_bytes, 3 << 20);
  EXPECT_EQ(Parse({"--result-cache-bytes", "0"}).result_cache_bytes, 0);
  EXPECT_FALSE(exit_code_);
  EXPECT_EQ(options.drain_timeout, absl::Milliseconds(1500));
  EXPECT_TRUE(options.truncate);
  EXPECT_TRUE(options.vocabulary_shortlist);
  EXPECT_FALSE(Parse({}).vocabulary_shortlist);
  EXPECT_EQ(options.log_format, LogFormat::kJson);
  EXPECT_EQ(options.metrics_listen, "");
  EXPECT_EQ(Parse({"--metrics-listen="}).metrics_listen, "");
}

TEST_F(OptionsTest, SettingsOfAModel) {
  const auto parse = [](const char* text) {
    return ParseModelSpec(text).value_or(ModelSpec());
  };
  EXPECT_EQ(parse("a=/x,shortlist=on"),
            (ModelSpec{"a", "/x", std::nullopt, true}));
  EXPECT_EQ(parse("a=/x,y,precision=f32,shortlist=off"),
            (ModelSpec{"a", "/x,y", Precision::kF32, false}));
  EXPECT_EQ(parse("a=/x,shortlist=on,precision=int8"),
            (ModelSpec{"a", "/x", Precision::kInt8, true}));
  EXPECT_EQ(parse("a=/x,other=on"),
            (ModelSpec{"a", "/x,other=on", std::nullopt}));
  EXPECT_THAT(
      std::string(ParseModelSpec("a=/x,shortlist=yes").status().message()),
      HasSubstr("shortlist is 'yes' and must be on or off"));
}

TEST_F(OptionsTest, TheFlagWinsOverTheEnvironment) {
  setenv("TRIVIUM_WORKERS", "5", 1);
  setenv("TRIVIUM_MODEL", "a=/x;b=/y", 1);
  setenv("TRIVIUM_TRUNCATE", "true", 1);
  EXPECT_EQ(Parse({}).workers, 5);
  EXPECT_EQ(Parse({}).models.size(), 2);
  EXPECT_TRUE(Parse({}).truncate);
  EXPECT_EQ(Parse({"--workers", "2"}).workers, 2);
  EXPECT_EQ(Parse({"--model", "c=/z"}).models.size(), 1);
}

TEST_F(OptionsTest, RefusesNonsense) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"--nonsense"},
                                             {"--workers", "-1"},
                                             {"--workers", "many"},
                                             {"--workers", "0"},
                                             {"--worker-threads", "257"},
                                             {"--model", "no-folder"},
                                             {"--model", "a=/x,precision=f8"},
                                             {"--precision", "f64"},
                                             {"--max-isa", "sse"},
                                             {"--max-beam-size", "0"},
                                             {"--drain-timeout", "-1"},
                                             {"--max-queue-wait", "-1"},
                                             {"--client-key-header", "a b"},
                                             {"--client-key-header", "a-bin"},
                                             {"--log-format", "xml"}}) {
    testing::internal::CaptureStderr();
    Parse(arguments);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(exit_code_) << arguments[0];
    EXPECT_NE(*exit_code_, 0);
    EXPECT_FALSE(said.empty());
  }
}

TEST_F(OptionsTest, HelpShowsGroupsDefaultsUnitsAndTwins) {
  testing::internal::CaptureStdout();
  Parse({"--help"});
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_EQ(exit_code_, 0);
  for (const char* part :
       {"Network:", "Models:", "Limits of a call:", "127.0.0.1:50051", "(bytes",
        "(seconds)", "TRIVIUM_MAX_WAITING_TOKENS", "268435456"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST_F(OptionsTest, VersionIsPrinted) {
  testing::internal::CaptureStdout();
  Parse({"--version"});
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("trivium-server "));
  EXPECT_EQ(exit_code_, 0);
}

TEST(HostPortTest, Parses) {
  EXPECT_EQ(ParseHostPort("127.0.0.1:9464")->port, 9464);
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  for (const char* bad :
       {"", "host", ":80", "h:", "h:x", "h:70000", "h:-1", "::1:80", "h:1x"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace trivium
