// Invariant: grants_ is never changed, only replaced as a whole. So a call
// keeps the grant that it started with.
#include "server/limits/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "server/errors/status.h"
#include "server/limits/call_context.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr JsonLimits kFileLimits = {size_t{4} << 20, size_t{64} << 20};
constexpr size_t kFewestTokenBytes = 20;
constexpr size_t kMostTokenBytes = 4096;

absl::StatusOr<Sha256> ParseHash(const nlohmann::json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const bool hex = std::all_of(text.begin(), text.end(),
                               [](char c) { return absl::ascii_isxdigit(c); });
  if (text.size() != 2 * Sha256().size() || !hex) {
    return absl::InvalidArgumentError(
        "sha256 must have the 64 hexadecimal digits of a token's SHA-256");
  }
  const std::string bytes = absl::HexStringToBytes(text);
  Sha256 hash;
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

absl::StatusOr<std::vector<std::string>> ParseModels(
    const nlohmann::json& value) {
  std::vector<std::string> models;
  for (const nlohmann::json& model : value) {
    if (model.is_string()) models.push_back(model.get<std::string>());
  }
  if (!value.is_array() || models.empty() || models.size() != value.size()) {
    return absl::InvalidArgumentError(
        "models must be a list of names; without it, all may be used");
  }
  return models;
}

absl::StatusOr<Priority> ParseHighest(const nlohmann::json& value) {
  for (const Priority priority :
       {Priority::kInteractive, Priority::kBackground}) {
    if (value == PriorityName(priority)) return priority;
  }
  return absl::InvalidArgumentError(
      "priority must be interactive, which is the default, or batch");
}

absl::StatusOr<double> ParsePositive(const char* name,
                                     const nlohmann::json& value,
                                     double least) {
  if (value.is_number() && value.get<double>() >= least &&
      value.get<double>() <= 1e9) {
    return value.get<double>();
  }
  return absl::InvalidArgumentError(
      fmt::format("{} must be a number from {} to 1e9", name, least));
}

absl::StatusOr<Grant::Rules> ParseEntry(const nlohmann::json& entry) {
  Grant::Rules rules;
  if (!entry.is_object()) {
    return absl::InvalidArgumentError("must be an object");
  }
  bool has_hash = false, has_burst = false;
  for (const auto& [key, value] : entry.items()) {
    if (key == "name" && value.is_string()) {
      rules.name = value.get<std::string>();
    } else if (key == "sha256") {
      TRIVIUM_ASSIGN_OR_RETURN(rules.hash, ParseHash(value));
      has_hash = true;
    } else if (key == "models") {
      TRIVIUM_ASSIGN_OR_RETURN(rules.models, ParseModels(value));
    } else if (key == "orders" && value.is_boolean()) {
      rules.orders = value.get<bool>();
    } else if (key == "share_cache" && value.is_boolean()) {
      rules.share_cache = value.get<bool>();
    } else if (key == "priority") {
      TRIVIUM_ASSIGN_OR_RETURN(rules.priority, ParseHighest(value));
    } else if (key == "rate") {
      TRIVIUM_ASSIGN_OR_RETURN(rules.rate, ParsePositive("rate", value, 1e-6));
    } else if (key == "burst") {
      TRIVIUM_ASSIGN_OR_RETURN(rules.burst, ParsePositive("burst", value, 1));
      has_burst = true;
    } else {
      return absl::InvalidArgumentError(fmt::format(
          "{} is not known, or of the wrong type; an entry has name, sha256, "
          "models, rate, burst, priority, orders and share_cache",
          Shorten(key)));
    }
  }
  if (rules.name.empty() || !has_hash) {
    return absl::InvalidArgumentError("must have a name and a sha256");
  }
  if (has_burst && rules.rate == 0) {
    return absl::InvalidArgumentError("burst needs rate");
  }
  if (!has_burst) rules.burst = std::max(1.0, rules.rate);
  return rules;
}

absl::StatusOr<std::vector<std::shared_ptr<const Grant>>> ParseGrants(
    const std::string& text) {
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json file,
                           ParseJson(text, kFileLimits));
  if (!file.is_object() || file.size() != 1 || !file.contains("tokens") ||
      !file["tokens"].is_array()) {
    return absl::InvalidArgumentError(
        R"(must be {"tokens": [...]} and have nothing else)");
  }
  std::vector<std::shared_ptr<const Grant>> grants;
  std::map<Sha256, size_t> tokens;  // hash -> index in grants
  for (const nlohmann::json& entry : file["tokens"]) {
    absl::StatusOr<Grant::Rules> rules = ParseEntry(entry);
    if (!rules.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("tokens[{}]: {}", grants.size(),
                      std::string(rules.status().message())));
    }
    const auto [same, is_new] = tokens.emplace(rules->hash, grants.size());
    if (!is_new) {
      return absl::InvalidArgumentError(
          fmt::format("tokens[{}] has the sha256 of tokens[{}]; give each "
                      "client a token of its own",
                      grants.size(), same->second));
    }
    grants.push_back(std::make_shared<Grant>(*std::move(rules)));
  }
  return grants;
}

}  // namespace

bool Grant::MayUse(std::string_view model) const {
  return rules_.models.empty() ||
         std::find(rules_.models.begin(), rules_.models.end(), model) !=
             rules_.models.end();
}

absl::Status Grant::Spend(absl::Time now) const {
  if (rules_.rate == 0) return absl::OkStatus();
  MutexLock lock(&mutex_);
  if (now > spent_at_) {
    balance_ = std::min(
        rules_.burst,
        balance_ + absl::ToDoubleSeconds(now - spent_at_) * rules_.rate);
    spent_at_ = now;
  }
  if (balance_ >= 1) {
    balance_ -= 1;
    return absl::OkStatus();
  }
  return WithRetry(
      absl::ResourceExhaustedError(fmt::format(
          "this token may make {:g} calls a second and has made them",
          rules_.rate)),
      absl::Seconds((1 - balance_) / rules_.rate));
}

absl::StatusOr<std::unique_ptr<Access>> Access::Load(const std::string& path,
                                                     const Clock* clock,
                                                     absl::Duration interval) {
  auto access = std::unique_ptr<Access>(new Access(path, clock));
  {
    MutexLock lock(&access->reload_mutex_);
    TRIVIUM_RETURN_IF_ERROR(access->ReloadLocked());
  }
  access->reloading_.emplace(
      interval, [self = access.get()] { self->Reload().IgnoreError(); });
  return access;
}

absl::StatusOr<std::shared_ptr<const Grant>> Access::Find(
    std::string_view authorization) const {
  // The second is DeepL's clients'.
  constexpr std::string_view kSchemes[] = {"bearer ", "deepl-auth-key "};
  size_t scheme = 0;
  for (const std::string_view one : kSchemes) {
    if (absl::StartsWithIgnoreCase({authorization.data(), authorization.size()},
                                   {one.data(), one.size()})) {
      scheme = one.size();
    }
  }
  if (scheme == 0 || authorization.size() > kMostTokenBytes) {
    return absl::UnauthenticatedError(
        "this server wants a token: send 'authorization: Bearer TOKEN'");
  }
  const std::string token(
      absl::StripAsciiWhitespace(std::string(authorization.substr(scheme))));
  const Sha256 hash = Sha256Of(token);
  std::shared_ptr<const Grants> grants;
  {
    MutexLock lock(&mutex_);
    grants = grants_;
  }
  // Compares all of them, so that the time tells nothing about the tokens.
  std::shared_ptr<const Grant> found;
  for (const auto& grant : *grants) {
    if (EqualInConstantTime(hash, grant->rules().hash)) found = grant;
  }
  if (found != nullptr) return found;
  return absl::UnauthenticatedError(
      "the token is not one of this server's; it may have been revoked");
}

absl::Status Access::Reload() {
  MutexLock lock(&reload_mutex_);
  const absl::Status status = ReloadLocked();
  const std::string problem(status.message());
  if (!status.ok() && problem != logged_) {
    Log(spdlog::level::err,
        "the tokens file is not good; the last good tokens stay",
        {{"error", problem}});
  }
  logged_ = problem;
  return status;
}

absl::Status Access::ReloadLocked() {
  TRIVIUM_ASSIGN_OR_RETURN(std::string text,
                           ReadFile(path_, kFileLimits.bytes));
  if (text == text_) return absl::OkStatus();
  absl::StatusOr<Grants> grants = ParseGrants(text);
  if (!grants.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", path_, std::string(grants.status().message())));
  }
  Log(spdlog::level::info, "tokens of clients",
      {{"file", path_}, {"tokens", static_cast<int64_t>(grants->size())}});
  text_ = std::move(text);
  MutexLock lock(&mutex_);
  grants_ = std::make_shared<const Grants>(*std::move(grants));
  return absl::OkStatus();
}

void Identify(const Access* access, std::string_view authorization,
              CallContext* context) {
  if (access == nullptr) return;
  auto grant = access->Find(authorization);
  context->access = grant.status();
  if (!grant.ok()) return;
  context->grant = *std::move(grant);
  context->client_key = context->grant->rules().name;
}

void Admit(const Access* access, std::string_view authorization,
           CallContext* context) {
  Identify(access, authorization, context);
  if (context->grant == nullptr) return;
  context->access = context->grant->Spend(access->clock()->Now());
}

absl::StatusOr<std::string> TokenEntry(std::string_view token) {
  const bool plain = std::all_of(token.begin(), token.end(),
                                 [](char c) { return absl::ascii_isgraph(c); });
  if (token.size() < kFewestTokenBytes || token.size() > kMostTokenBytes / 2 ||
      !plain) {
    return absl::InvalidArgumentError(fmt::format(
        "a token has {} to {} printable characters, without spaces; make one "
        "by: openssl rand -base64 32",
        kFewestTokenBytes, kMostTokenBytes / 2));
  }
  const Sha256 hash = Sha256Of(token);
  return fmt::format(
      R"({{"name": "...", "sha256": "{}"}})",
      absl::BytesToHexString(std::string(hash.begin(), hash.end())));
}

}  // namespace trivium
