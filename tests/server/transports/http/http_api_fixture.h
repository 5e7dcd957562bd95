#ifndef TRIVIUM_TESTS_SERVER_TRANSPORTS_HTTP_HTTP_API_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_TRANSPORTS_HTTP_HTTP_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "nlohmann/json.hpp"
#include "server/calls/call_registry.h"
#include "server/calls/document_jobs.h"
#include "server/transports/http/http_api.h"
#include "tests/server/transports/grpc/puppet_batcher.h"
#include "tests/support/http_get.h"
#include "tests/support/puppet_model.h"

namespace trivium {

inline constexpr char kTranslate[] = "/trivium.v1.Inference/Translate";
inline constexpr char kGenerate[] = "/trivium.v1.Inference/Generate";
inline constexpr char kAbc[] = R"({"inputs":[{"text":"abc"}]})";

// The API over HTTP on a free port. A puppet answers in place of the models.
class HttpApiTest : public testing::Test {
 protected:
  HttpApiTest() {
    const ModelHandle model = ServedPuppet("translator");
    metrics_.AddModel(*model);
    environment_.models.Add(model).IgnoreError();
    environment_.batcher = &batcher_;
    environment_.metrics = &metrics_;
    environment_.calls = &calls_;
    environment_.kept_files = &kept_files_;
    environment_.glossaries = &glossaries_;
    environment_.document_jobs = &document_jobs_;
    environment_.tokenizing = &tokenizing_;
    environment_.delivery = &delivery_;
  }
  ~HttpApiTest() override { Stop(); }

  void Start(HttpApi::Options options = {}) {
    auto api = HttpApi::Create(options, environment_, &overload_);
    ASSERT_TRUE(api.ok()) << api.status();
    api_ = *std::move(api);
  }
  void Stop() {
    if (api_ == nullptr) return;
    calls_.Drain(absl::ZeroDuration());
    batcher_.Drain(absl::ZeroDuration());
    document_jobs_.CancelAll();
    api_->Stop();
    EXPECT_TRUE(calls_.Drain(absl::Minutes(1)));
    api_.reset();
  }

  HttpResult Post(
      const std::string& path, const std::string& body,
      const std::string& headers = "Content-Type: application/json\r\n") {
    return HttpPost(api_->port(), path, body, headers);
  }
  HttpResult Send(const std::string& bytes) {
    HttpSocket socket(api_->port());
    socket.Send(bytes);
    return ParseHttpResult(socket.Receive());
  }

  // The message of an error in the form of Connect.
  static std::string MessageOf(const HttpResult& answer) {
    return nlohmann::json::parse(answer.body).at("message");
  }

  Metrics metrics_{1};
  PuppetBatcher batcher_;
  CallRegistry calls_{Clock::Real()};
  KeptFiles kept_files_{{}, Clock::Real()};
  GlossaryStore glossaries_{{}, Clock::Real()};
  int64_t memory_ = 0;
  OverloadManager overload_{{.limit_bytes = 1 << 30,
                             .memory = [this] { return memory_; },
                             .trim = [] {}},
                            &metrics_,
                            /*watch=*/false};
  DocumentJobs document_jobs_{{}, &overload_, Clock::Real()};
  Environment environment_;
  std::unique_ptr<HttpApi> api_;
  WorkPool tokenizing_{1};
  WorkPool delivery_{1};
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSPORTS_HTTP_HTTP_API_FIXTURE_H_
