#include "server/transports/http/routes.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using nlohmann::json;

// The routes as docs/openapi.json names them, such as "POST /embed".
std::set<std::string> RoutesAsDescribed() {
  std::set<std::string> routes;
  for (const Route& route : Routes()) {
    std::string path(route.path);
    if (path.ends_with('/') && path != "/") {
      path += path.ends_with("/models/")       ? "{model}"
              : path.ends_with("/glossaries/") ? "{glossary}"
              : path == "/v2/document/"        ? "{document}"
                                               : "{file}";
    }
    path += route.ending;
    routes.insert(std::string(route.method) + " " + path);
  }
  routes.insert("GET " + std::string(kHealthPath));
  routes.insert("GET " + std::string(kPingPath));
  routes.insert("GET " + std::string(kMetricsPath));
  routes.insert("GET /");
  routes.insert("GET /index.html");
  for (const char* path : {"/openapi.json", "/spec", "/api-doc/openapi.json"}) {
    routes.insert(std::string("GET ") + path);
  }
  for (const PathTwin& twin : PathTwins()) {
    routes.insert(std::string(twin.method) + " " + std::string(twin.path));
  }
  return routes;
}

json OpenApi() {
  std::ifstream file("docs/openapi.json");
  return json::parse(file);
}

TEST(RoutesTest, OpenApiDescribesAllRoutes) {
  const json document = OpenApi();
  std::set<std::string> described;
  for (const auto& [path, operations] : document.at("paths").items()) {
    for (const auto& [method, operation] : operations.items()) {
      std::string name = method;
      std::transform(name.begin(), name.end(), name.begin(), ::toupper);
      described.insert(name + " " + path);
      EXPECT_TRUE(operation.contains("operationId")) << path;
      EXPECT_TRUE(operation.at("responses").begin().key().starts_with('2'))
          << path;
      EXPECT_EQ(operation.contains("requestBody"),
                method != "get" && method != "delete")
          << path;
    }
  }
  EXPECT_EQ(described, RoutesAsDescribed());
}

TEST(RoutesTest, OpenApiDescribesATwinAsThePathThatItStandsFor) {
  const json document = OpenApi();
  for (const PathTwin& twin : PathTwins()) {
    std::string method(twin.method);
    std::transform(method.begin(), method.end(), method.begin(), ::tolower);
    const auto described = [&](std::string_view path) {
      json operation = document["paths"][std::string(path)][method];
      operation.erase("operationId");
      operation.erase("summary");
      return operation;
    };
    json twins = described(twin.path);
    EXPECT_EQ(twins["x-same-as"], twin.own) << twin.path;
    twins.erase("x-same-as");
    EXPECT_EQ(twins, described(twin.own)) << twin.path;
    const RouteMatch found = FindRoute(twin.method, twin.path);
    ASSERT_NE(found.route, nullptr) << twin.path;
    EXPECT_EQ(found.path, twin.own);
  }
  EXPECT_EQ(FindRoute("HEAD", "/models").path, "/v1/models");
}

TEST(RoutesTest, ReferencesOfOpenApiExist) {
  const json document = OpenApi();
  const std::function<void(const json&)> check = [&](const json& value) {
    if (value.is_object() && value.contains("$ref")) {
      const auto name = value["$ref"].get<std::string>();
      EXPECT_TRUE(document.contains(json::json_pointer(name.substr(1))))
          << name;
    }
    if (value.is_structured()) {
      for (const json& inner : value) check(inner);
    }
  };
  check(document);
}

// All calls of the API except those that read a stream of requests.
TEST(RoutesTest, EveryUnaryCallHasAConnectPath) {
  const std::set<std::string> routes = RoutesAsDescribed();
  for (const auto* file : {v1::EncodeRequest::descriptor()->file(),
                           v1::Model::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const auto* const service = file->service(s);
      for (int m = 0; m < service->method_count(); ++m) {
        const auto* const method = service->method(m);
        EXPECT_EQ(routes.contains("POST /" + service->full_name() + "/" +
                                  method->name()),
                  !method->client_streaming())
            << method->full_name();
      }
    }
  }
}

TEST(RoutesTest, FindsRoutesByMethodAndPath) {
  EXPECT_EQ(FindRoute("POST", "/embed").route->path, "/embed");
  EXPECT_EQ(FindRoute("GET", "/embed").route, nullptr);
  EXPECT_EQ(FindRoute("GET", "/embed").allowed, "POST");
  EXPECT_EQ(FindRoute("GET", "/v1/models/a/b").route->path, "/v1/models/");
  EXPECT_EQ(FindRoute("GET", "/v1/models").route->path, "/v1/models");
  EXPECT_EQ(FindRoute("POST", "/v1").allowed, "");
  EXPECT_EQ(FindRoute("POST", "/").route->path, "/");
  EXPECT_EQ(FindRoute("POST", "/anything").route, nullptr);
}

TEST(RoutesTest, AHeaderTellsTheClientsOfOneShapeFromThoseOfAnother) {
  RequestHead head;
  head.header = [](const char* name) {
    return std::string(name) == "anthropic-version" ? "2023-06-01" : "";
  };
  RequestHead plain;
  plain.header = [](const char*) { return std::string(); };
  for (const char* const path : {"/v1/models", "/v1/models/a"}) {
    const Route& route = *FindRoute("GET", path).route;
    EXPECT_EQ(route.header, "");
    EXPECT_EQ(&ChooseByHeader(route, plain), &route);
    EXPECT_EQ(ChooseByHeader(route, head).header, "anthropic-version");
  }
  const Route& other = *FindRoute("POST", "/v1/messages").route;
  EXPECT_EQ(&ChooseByHeader(other, head), &other);
}

TEST(RoutesTest, AnEndingTellsARouteFromThatOfTheName) {
  const std::string one = "/v3/glossaries/a";
  EXPECT_EQ(FindRoute("DELETE", one + "/dictionaries").route->ending,
            "/dictionaries");
  EXPECT_EQ(FindRoute("DELETE", one).route->ending, "");
  EXPECT_EQ(FindRoute("GET", one + "/entries").route->ending, "/entries");
  EXPECT_EQ(FindRoute("PUT", one).route, nullptr);
  EXPECT_EQ(FindRoute("PUT", one).allowed, "GET, HEAD, PATCH, DELETE");
}

TEST(RoutesTest, FindsPathsWithSlashesTooMany) {
  const RouteMatch models = FindRoute("GET", "//v1//models/");
  ASSERT_NE(models.route, nullptr);
  EXPECT_EQ(models.route->path, "/v1/models");
  EXPECT_EQ(models.path, "/v1/models");
  EXPECT_EQ(FindRoute("POST", "/v1//chat/completions/").route->path,
            "/v1/chat/completions");
  EXPECT_EQ(FindRoute("GET", "/v1//models/a").path, "/v1/models/a");
  EXPECT_EQ(FindRoute("GET", "//embed").allowed, "POST");
  // Paths that a proxy may forbid are found only as they are written.
  const char* const load = "/trivium.v1.Models/LoadModel";
  EXPECT_NE(FindRoute("POST", load).route, nullptr);
  EXPECT_EQ(FindRoute("POST", std::string("/") + load).route, nullptr);
  EXPECT_EQ(FindRoute("POST", std::string(load) + "/").route, nullptr);
}

TEST(RoutesTest, PathsOfOtherServersAreAnsweredWithAdvice) {
  for (const auto& [path, advice] :
       {std::pair("/slots", "no slots"), std::pair("/healthz", "/health"),
        std::pair("/pipeline/image-to-text", "fill-mask"),
        std::pair("/openai/v1/models", "begin with /v1")}) {
    EXPECT_EQ(FindRoute("POST", path).route, nullptr) << path;
    EXPECT_THAT(std::string(HintFor(path)), testing::HasSubstr(advice)) << path;
  }
}

TEST(RoutesTest, ABodyTellsTheShape) {
  const ModelDirectory none;
  const AllowedModels models(none, nullptr);
  const Route& rerank = *FindRoute("POST", "/rerank").route;
  EXPECT_EQ(
      ChooseRoute(rerank, R"({"query":"q","documents":[]})", models).member,
      "documents");
  EXPECT_EQ(ChooseRoute(rerank, R"({"texts":["documents"]})", models).member,
            "");
  const Route& tokenize = *FindRoute("POST", "/tokenize").route;
  EXPECT_EQ(ChooseRoute(tokenize, R"({"prompt":"a"})", models).member,
            "prompt");
  EXPECT_EQ(ChooseRoute(tokenize, R"({"content":"a"})", models).member,
            "content");
  const Route& embed = *FindRoute("POST", "/embed").route;
  EXPECT_EQ(&ChooseRoute(embed, R"({"documents":1})", models), &embed);
  const Route& root = *FindRoute("POST", "/").route;
  EXPECT_EQ(ChooseRoute(root, R"({"texts":[]})", models).rpc, Rpc::kRerank);
  // TGI's clients send `stream`, whatever it is.
  EXPECT_EQ(
      ChooseRoute(root, R"({"inputs":"a","parameters":{},"stream":false})",
                  models)
          .rpc,
      Rpc::kGenerate);
  const Route& chat = *FindRoute("POST", "/api/chat").route;
  EXPECT_EQ(ChooseRoute(chat, R"({"messages":[{}]})", models).rpc,
            Rpc::kGenerate);
  EXPECT_EQ(ChooseRoute(chat, R"({"messages":[]})", models).rpc,
            Rpc::kGetModel);
}

}  // namespace
}  // namespace trivium
