#include "server/options.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/error_texts.h"

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

TEST_F(OptionsTest, HasDefaults) {
  const Options options = Parse({});
  EXPECT_FALSE(exit_code_);
  EXPECT_EQ(options.listen, "127.0.0.1:50051");
  EXPECT_EQ(options.http_listen, "127.0.0.1:8080");
  EXPECT_FALSE(options.http_given);
  EXPECT_EQ(options.metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(options.limits.max_request_bytes, 4 << 20);
  EXPECT_EQ(options.kv_cache_bytes, std::nullopt);
  EXPECT_EQ(options.result_cache_bytes, 0);
  EXPECT_TRUE(options.models.empty());
}

TEST_F(OptionsTest, ExplainsItselfAndItsFlags) {
  testing::internal::CaptureStdout();
  Parse({"-h"});
  EXPECT_EQ(exit_code_, 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("--model"),
            std::string::npos);
  testing::internal::CaptureStderr();
  Parse({"--verison"});
  EXPECT_EQ(exit_code_, kExitUsage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "unknown flag --verison; did you mean --version?\n");
}

TEST_F(OptionsTest, ThePivotLanguageIsChecked) {
  EXPECT_EQ(Parse({}).pivot_language, "");
  EXPECT_EQ(Parse({"--pivot-language", "eng"}).pivot_language, "en");
  EXPECT_FALSE(exit_code_);
  Parse({"--pivot-language", "mul"});
  EXPECT_EQ(exit_code_, kExitUsage);
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
  EXPECT_FALSE(options.prefix_cache_bytes);
  EXPECT_EQ(Parse({"--prefix-cache-bytes", "2MiB"}).prefix_cache_bytes,
            2 << 20);
  EXPECT_EQ(Parse({"--prefix-cache-bytes", "0"}).prefix_cache_bytes, 0);
  EXPECT_FALSE(Parse({"--prefix-cache-bytes", "auto"}).prefix_cache_bytes);
  EXPECT_TRUE(options.speculation);
  EXPECT_FALSE(Parse({"--speculation", "off"}).speculation);
  EXPECT_FALSE(exit_code_);
  EXPECT_EQ(options.drain_timeout, absl::Milliseconds(1500));
  EXPECT_TRUE(options.truncate);
  EXPECT_TRUE(options.vocabulary_shortlist);
  EXPECT_FALSE(Parse({}).vocabulary_shortlist);
  EXPECT_EQ(Parse({}).translate_with, "auto");
  EXPECT_EQ(Parse({"--translate-with", "tower"}).translate_with, "tower");
  EXPECT_EQ(options.log_format, LogFormat::kJson);
  EXPECT_EQ(options.metrics_listen, "");
  EXPECT_EQ(Parse({"--metrics-listen="}).metrics_listen, "");
}

TEST_F(OptionsTest, ReadsSettingsOfAModel) {
  const auto parse = [](const char* text) {
    return ParseModelSpec(text).value_or(ModelSpec());
  };
  const ModelSpec plain = {.name = "a", .folder = "/x"};
  ModelSpec spec = plain;
  spec.shortlist = true;
  EXPECT_EQ(parse("a=/x,shortlist=on"), spec);
  spec.shortlist.reset();
  spec.task = "retrieval.query";
  EXPECT_EQ(parse("a=/x,task=retrieval.query"), spec);
  spec.task.clear();
  spec.translate_with = "hy-mt1.5";
  EXPECT_EQ(parse("a=/x,translate_with=hy-mt1.5"), spec);
  spec = plain;
  spec.shortlist = true;
  spec.precision = Precision::kInt8;
  EXPECT_EQ(parse("a=/x,shortlist=on,precision=int8"), spec);
  spec = plain;
  spec.folder = "/x,y";
  spec.precision = Precision::kF32;
  spec.shortlist = false;
  EXPECT_EQ(parse("a=/x,y,precision=f32,shortlist=off"), spec);
  spec = plain;
  spec.kv_precision = Precision::kBf16;
  EXPECT_EQ(parse("a=/x,kv=bf16"), spec);
  EXPECT_THAT(ParseModelSpec("a=/x,shortlist=yes"),
              IsError(absl::StatusCode::kInvalidArgument, "shortlist"));
  const auto misspelt = ParseModelSpec("a=/x,presicion=f32");
  EXPECT_THAT(misspelt,
              IsError(absl::StatusCode::kInvalidArgument, "presicion"));
  EXPECT_THAT(misspelt,
              IsError(absl::StatusCode::kInvalidArgument, "precision"));
  // Folders that look like settings.
  EXPECT_EQ(parse("a=/x,other=on/"),
            (ModelSpec{"a", "/x,other=on/", std::nullopt}));
  EXPECT_EQ(parse("a=/x,B=on"), (ModelSpec{"a", "/x,B=on", std::nullopt}));
}

TEST_F(OptionsTest, AModelOfAHubHasTheNameOfItsRepository) {
  const auto parse = [](const char* text) {
    return ParseModelSpec(text).value_or(ModelSpec());
  };
  EXPECT_EQ(parse("hf:Qwen/Qwen3-0.6B"),
            (ModelSpec{"Qwen3-0.6B", "hf:Qwen/Qwen3-0.6B", std::nullopt}));
  ModelSpec spec = {"chat", "hf:a/b@refs/pr/1:Q4_0", std::nullopt};
  EXPECT_EQ(parse("chat=hf:a/b@refs/pr/1:Q4_0"), spec);
  spec.precision = Precision::kF32;
  EXPECT_EQ(parse("chat=hf:a/b@refs/pr/1:Q4_0,precision=f32"), spec);
  EXPECT_EQ(parse("./hf:a/b"), (ModelSpec{"b", "./hf:a/b", std::nullopt}));
  EXPECT_THAT(ParseModelSpec("hf:a/b/c"),
              IsError(absl::StatusCode::kInvalidArgument, "a/b/c"));
}

TEST_F(OptionsTest, AModelWithoutANameHasTheNameOfItsFolder) {
  const auto name = [](const std::string& text) {
    const auto spec = ParseModelSpec(text);
    EXPECT_TRUE(spec.ok()) << spec.status();
    return spec.value_or(ModelSpec()).name;
  };
  EXPECT_EQ(name("/models/opus"), "opus");
  EXPECT_EQ(name("/models/opus//"), "opus");
  EXPECT_EQ(name("opus,precision=f32"), "opus");
  EXPECT_EQ(name("/models/a=b"), "a=b");
  EXPECT_EQ(name("/models/a,b"), "a,b");
  EXPECT_EQ(name("/models/x/.."), "models");
  EXPECT_EQ(name("."), std::filesystem::current_path().filename());
  for (const char* bad : {"", "/", "=/x", "a=", ",precision=f32"}) {
    EXPECT_FALSE(ParseModelSpec(bad).ok()) << bad;
  }
  for (const char* unprintable :
       {"a\nb=/x", "a\x7F=/x", "/x/\xFF", "\u202Eb=/x"}) {
    EXPECT_THAT(ParseModelSpec(unprintable).status(),
                IsError(absl::StatusCode::kInvalidArgument, "printed"))
        << unprintable;
  }
  EXPECT_EQ(name("Größe=/x"), "Größe");
  const Options options = Parse({"/models/a", "--model", "/models/b", "c=/d"});
  ASSERT_FALSE(exit_code_);
  std::vector<std::string> names;
  for (const ModelSpec& spec : options.models) names.push_back(spec.name);
  EXPECT_THAT(names, testing::ElementsAre("a", "b", "c"));
}

// As deploy/compose.yaml has it where nobody asks for traces.
TEST_F(OptionsTest, AnEmptyVariableIsIgnored) {
  setenv("TRIVIUM_TRACE_ENDPOINT", "", 1);
  setenv("TRIVIUM_WORKERS", "", 1);
  const Options options = Parse({});
  unsetenv("TRIVIUM_TRACE_ENDPOINT");
  EXPECT_FALSE(exit_code_);
  EXPECT_FALSE(options.trace_endpoint);
  EXPECT_EQ(options.workers, std::nullopt);
}

TEST_F(OptionsTest, AFlagOverridesItsVariable) {
  setenv("TRIVIUM_WORKERS", "5", 1);
  setenv("TRIVIUM_MODEL", "a=/x;b=/y", 1);
  setenv("TRIVIUM_TRUNCATE", "true", 1);
  EXPECT_EQ(Parse({}).workers, 5);
  EXPECT_EQ(Parse({}).models.size(), 2);
  EXPECT_TRUE(Parse({}).truncate);
  EXPECT_EQ(Parse({"--workers", "2"}).workers, 2);
  EXPECT_EQ(Parse({"--model", "c=/z"}).models.size(), 1);
  EXPECT_EQ(Parse({"/z"}).models.size(), 1);
}

TEST_F(OptionsTest, RefusesInvalidValues) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"--nonsense"},
                                             {"--workers", "-1"},
                                             {"--workers", "many"},
                                             {"--workers", "0"},
                                             {"--worker-threads", "257"},
                                             {"--model", "name="},
                                             {"--model", "a=/x,precision=f8"},
                                             {"--precision", "f64"},
                                             {"--kv-precision", "int4"},
                                             {"--max-isa", "sse"},
                                             {"--max-beam-size", "0"},
                                             {"--drain-timeout", "-1"},
                                             {"--max-queue-wait", "-1"},
                                             {"--client-key-header", "a b"},
                                             {"--client-key-header", "a-bin"},
                                             {"--log-format", "xml"},
                                             {"--listen", "0.0.0.0:80000"},
                                             {"--listen", "127.0.0.1"},
                                             {"--listen", "unix:"},
                                             {"--metrics-listen", "9464"},
                                             {"--max-connections", "0"},
                                             {"--stall-timeout", "nan"},
                                             {"--speculation", "maybe"},
                                             {"--prefix-cache-bytes", "-1"},
                                             {"--prefix-cache-bytes", "much"},
                                             {"--drain-delay", "-inf"},
                                             {"--load-reports", "some"},
                                             {"--trace-endpoint", "a:4318"},
                                             {"--trace-sample-rate", "2"},
                                             {"--trace-sample-rate", "nan"},
                                             {"--model", "a=/x,presicion=f32"},
                                             {"--model-alias", "gpt-4o"},
                                             {"--model-alias", "=chat"},
                                             {"--model-alias", "a=b;a=c"},
                                             {"--sse-keep-alive", "soon"},
                                             {"--check", ""},
                                             {"--check", "--model"},
                                             {"--workers=-1"}}) {
    testing::internal::CaptureStderr();
    Parse(arguments);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(exit_code_) << arguments[0];
    EXPECT_EQ(*exit_code_, 2) << arguments[0];
    const std::string_view name = arguments[0];
    EXPECT_THAT(said, ErrorAt(std::string(name.substr(0, name.find('=')))));
  }
}

TEST_F(OptionsTest, ReadsNamesOfModels) {
  const Options options =
      Parse({"--model-alias", "gpt-4o=chat", "--model-alias", "tgi=a=b"});
  ASSERT_FALSE(exit_code_);
  EXPECT_THAT(options.model_names.aliases,
              testing::ElementsAre(testing::Pair("gpt-4o", "chat"),
                                   testing::Pair("tgi", "a=b")));
  EXPECT_FALSE(options.model_names.any);
  EXPECT_TRUE(Parse({"--any-model"}).model_names.any);
}

TEST_F(OptionsTest, ReadsTimesWithUnits) {
  for (const auto& [text, time] : {std::pair{"10s", absl::Seconds(10)},
                                   {"500ms", absl::Milliseconds(500)},
                                   {"2.5", absl::Seconds(2.5)},
                                   {"1m", absl::Minutes(1)}}) {
    EXPECT_EQ(Parse({"--sse-keep-alive", text}).sse_keep_alive, time) << text;
    EXPECT_FALSE(exit_code_);
  }
}

TEST_F(OptionsTest, HelpShowsGroupsDefaultsUnitsAndVariables) {
  testing::internal::CaptureStdout();
  Parse({"--help"});
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_EQ(exit_code_, 0);
  for (const char* part :
       {"Network:", "Models:", "Limits of a call:", "127.0.0.1:50051", "(bytes",
        "(seconds)", "TRIVIUM_MAX_WAITING_TOKENS", "4194304"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST_F(OptionsTest, OriginsOfPagesAreChecked) {
  EXPECT_TRUE(Parse({}).cors_origins.empty());
  EXPECT_THAT(
      Parse({"--cors-allow-origin", "https://A.example:443",
             "--cors-allow-origin", "http://localhost:3000"})
          .cors_origins,
      testing::ElementsAre("https://a.example", "http://localhost:3000"));
  setenv("TRIVIUM_CORS_ALLOW_ORIGIN", "https://a.example,https://b.example", 1);
  EXPECT_THAT(Parse({}).cors_origins,
              testing::ElementsAre("https://a.example", "https://b.example"));
  unsetenv("TRIVIUM_CORS_ALLOW_ORIGIN");
  EXPECT_FALSE(exit_code_);
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"--cors-allow-origin", "a.example"},
        {"--cors-allow-origin", "https://a.example/"},
        {"--cors-allow-origin", "*", "--cors-allow-origin", "https://a"}}) {
    Parse(arguments);
    EXPECT_EQ(exit_code_, kExitUsage);
  }
}

TEST_F(OptionsTest, PrintsTheVersion) {
  testing::internal::CaptureStdout();
  Parse({"--version"});
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("trivium-server "));
  EXPECT_EQ(exit_code_, 0);
}

// --plan goes before the command line of a server, or has the models itself.
TEST_F(OptionsTest, PlanHasTheModelsOfTheCommandLine) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"--plan", "/a", "b=/c,precision=f32"},
        {"--plan=/a", "--plan", "b=/c,precision=f32"},
        {"--plan", "--model", "/a", "--model=b=/c,precision=f32"},
        {"/a", "b=/c,precision=f32", "--plan", "--json"}}) {
    const Options options = Parse(arguments);
    EXPECT_FALSE(exit_code_);
    EXPECT_TRUE(options.plan);
    ASSERT_EQ(options.models.size(), 2u);
    EXPECT_EQ(options.models[0].folder, "/a");
    EXPECT_EQ(options.models[1].name, "b");
    EXPECT_EQ(options.models[1].precision, Precision::kF32);
  }
  EXPECT_TRUE(Parse({"--plan"}).plan);
  EXPECT_TRUE(Parse({"--plan"}).models.empty());
  EXPECT_TRUE(Parse({"--plan", "--json"}).json);
  EXPECT_FALSE(Parse({}).plan);
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"--json"},
        {"--plan", "--check", "/a"},
        {"--plan", "/a,precision=f33"}}) {
    Parse(arguments);
    EXPECT_EQ(exit_code_, kExitUsage);
  }
}

}  // namespace
}  // namespace trivium
