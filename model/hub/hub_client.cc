#include "model/hub/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace trivium {
namespace {

constexpr absl::Duration kLongestWait = absl::Minutes(1);
constexpr size_t kLongestMessage = 200;

// Returns the hub's words about an error, fit for a terminal: " (...)" or "".
std::string MessageOf(const HubAnswer& answer) {
  std::string text;
  for (const char c : answer.Header("x-error-message")) {
    if (text.size() == kLongestMessage) break;
    if (absl::ascii_isprint(static_cast<unsigned char>(c))) text += c;
  }
  return text.empty() ? "" : fmt::format(" (it says: {})", text);
}

// Retry-After is a number of seconds or a date.
std::optional<absl::Duration> RetryAfter(const HubAnswer& answer) {
  const std::string text = answer.Header("retry-after");
  int seconds = 0;
  if (absl::SimpleAtoi(text, &seconds)) {
    return absl::Seconds(std::max(seconds, 0));
  }
  absl::Time time;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", text, &time, nullptr)) {
    return std::max(time - absl::Now(), absl::ZeroDuration());
  }
  return std::nullopt;
}

}  // namespace

absl::Status HubClient::Refusal(const HubName& name, const std::string& what,
                                const HubAnswer& answer) {
  const std::string code = answer.Header("x-error-code");
  const std::string page =
      fmt::format("{}/{}", settings_.endpoint, name.repository);
  const std::string message = MessageOf(answer);
  const auto text = [&](const std::string& rest) {
    return fmt::format("hf:{}: {}{}", name.repository, rest, message);
  };
  const bool denied = answer.status == 401 || answer.status == 403;
  retry_after_ = RetryAfter(answer);
  if (denied && code == "GatedRepo") {
    return absl::PermissionDeniedError(text(fmt::format(
        "the repository is gated: ask for access at {}, and {}", page,
        settings_.token.empty()
            ? "give a token of that account in HF_TOKEN"
            : "give a token of an account that has it in HF_TOKEN")));
  }
  if (answer.status == 401 && !settings_.token.empty() &&
      code != "RepoNotFound") {
    return absl::UnauthenticatedError(
        text("the hub does not accept the token; check HF_TOKEN, or the file "
             "that `hf auth login` wrote"));
  }
  // A hub answers 401, too, for what does not exist.
  if (code == "RepoNotFound" || (answer.status == 401 && code.empty())) {
    return absl::NotFoundError(text(fmt::format(
        "{} has no such repository, or it is private; check the name{}",
        settings_.endpoint,
        settings_.token.empty() ? ", or give a token in HF_TOKEN" : "")));
  }
  if (denied) {
    return absl::PermissionDeniedError(
        text(fmt::format("the hub refuses {} with status {}; see {}", what,
                         answer.status, page)));
  }
  if (code == "RevisionNotFound") {
    return absl::NotFoundError(text(fmt::format(
        "there is no revision '{}'; see {}/tree/main for the branches and tags",
        name.revision, page)));
  }
  if (answer.status == 404) {
    return absl::NotFoundError(text(fmt::format(
        "{} does not have {}; see {}", settings_.endpoint, what, page)));
  }
  if (answer.status == 416) {
    return absl::OutOfRangeError(
        text(fmt::format("the hub does not have so many bytes of {}", what)));
  }
  if (answer.status == 429) {
    return absl::UnavailableError(
        text("the hub gets too many requests from here"));
  }
  if (answer.status >= 500 || answer.status == 408) {
    return absl::UnavailableError(
        text(fmt::format("the hub answers with status {}", answer.status)));
  }
  return absl::FailedPreconditionError(
      text(fmt::format("the hub answers with status {} to a request of {}; "
                       "check HF_ENDPOINT",
                       answer.status, what)));
}

absl::Status HubClient::WaitToRetry(const absl::Status& status, int tries) {
  if (!absl::IsUnavailable(status)) return status;
  if (retry_after_ && *retry_after_ > kLongestWait) {
    return absl::UnavailableError(fmt::format(
        "{}; it asks to come back after {}", std::string(status.message()),
        absl::FormatDuration(absl::Ceil(*retry_after_, absl::Seconds(1)))));
  }
  const absl::Duration wait = retry_after_.value_or(
      std::min(settings_.retry_wait * (1 << (tries - 1)), kLongestWait));
  observer_->OnNote(fmt::format("{}; trying again in {}",
                                std::string(status.message()),
                                absl::FormatDuration(wait)));
  absl::SleepFor(wait);
  return absl::OkStatus();
}

absl::StatusOr<HubListing> HubClient::List(const HubName& name, int tries) {
  const std::string url =
      fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint,
                  PercentEncode(name.repository, true),
                  PercentEncode(name.revision, false));
  for (int i = 1;; ++i) {
    retry_after_.reset();
    absl::StatusOr<HubAnswer> answer = http_.Get(url);
    if (answer.ok() && answer->status == 200) {
      absl::StatusOr<HubListing> listing = ParseListing(answer->body);
      if (listing.ok()) return listing;
      return absl::Status(listing.status().code(),
                          fmt::format("hf:{}: {}", name.repository,
                                      std::string(listing.status().message())));
    }
    const absl::Status status =
        answer.ok() ? Refusal(name, "the list of files", *answer)
                    : answer.status();
    if (i >= tries) return status;
    TRIVIUM_RETURN_IF_ERROR(WaitToRetry(status, i));
  }
}

absl::Status HubClient::Read(const HubName& name, const std::string& commit,
                             const HubFile& file, int64_t from,
                             const HttpFetcher::Receiver& receiver) {
  retry_after_.reset();
  const std::string url = fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint,
                                      PercentEncode(name.repository, true),
                                      commit, PercentEncode(file.path, true));
  TRIVIUM_ASSIGN_OR_RETURN(const HubAnswer answer,
                           http_.Get(url, from, &receiver));
  if (answer.status == 200 || answer.status == 206) return absl::OkStatus();
  return Refusal(name, file.path, answer);
}

}  // namespace trivium
