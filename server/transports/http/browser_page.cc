#include "server/transports/http/browser_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"
#include "server/limits/crypto.h"
#include "server/page/page.h"
#include "server/transports/http/content_coding.h"
#include "server/transports/http/request_checks.h"

namespace trivium {
namespace {

constexpr std::string_view kIndex = "/index.html";
constexpr std::string_view kDescription = "/openapi.json";
// TEI's and LibreTranslate's names for the same.
constexpr std::string_view kDescriptionTwins[] = {"/api-doc/openapi.json",
                                                  "/spec"};
constexpr size_t kTagDigits = 32;

const PageFiles* const kPages[] = {&kServerPage, &kAttentionPicture,
                                   &kBeamsPicture, &kExplainPicture};

std::string Bytes(const Sha256& hash) { return {hash.begin(), hash.end()}; }

// Returns a source of Content-Security-Policy that allows this text.
std::string HashSource(std::string_view text) {
  std::string code;
  absl::Base64Escape(Bytes(Sha256Of(text)), &code);
  return fmt::format("'sha256-{}'", code);
}

// The frames of pictures inherit the page's policy, so it names their scripts
// and styles, too. Trusted types make browsers refuse text of models as HTML.
std::string PagePolicy() {
  std::vector<std::string> scripts, styles;
  for (const PageFiles* const page : kPages) {
    scripts.push_back(HashSource(page->script));
    styles.push_back(HashSource(page->style));
  }
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; "
      "img-src data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; "
      "trusted-types pages",
      fmt::join(scripts, " "), fmt::join(styles, " "));
}

nlohmann::json Parts(const PageFiles& page) {
  return {{"html", page.html}, {"style", page.style}, {"script", page.script}};
}

std::string PageText() {
  return MakePage(kServerPage, {{"pages",
                                 {{"attention", Parts(kAttentionPicture)},
                                  {"beams", Parts(kBeamsPicture)},
                                  {"explain", Parts(kExplainPicture)}}}});
}

bool IsDescription(std::string_view path) {
  return path == kDescription ||
         std::find(std::begin(kDescriptionTwins), std::end(kDescriptionTwins),
                   path) != std::end(kDescriptionTwins);
}

// The tag is weak, since both codings share it.
std::string TagOf(std::string_view text) {
  const std::string digits = absl::BytesToHexString(Bytes(Sha256Of(text)));
  return fmt::format("W/\"{}\"", digits.substr(0, kTagDigits));
}

// True if the value of If-None-Match names a tag. W/ does not count (RFC 9110,
// 13.1.2), and no tag has a quote inside.
bool Matches(std::string_view if_none_match, std::string_view tag) {
  return WithoutSpace(if_none_match) == "*" ||
         if_none_match.find(tag.substr(2)) != std::string_view::npos;
}

}  // namespace

BrowserPage::File::File(std::string type, std::string policy, std::string text)
    : type(std::move(type)),
      policy(std::move(policy)),
      text(std::move(text)),
      packed(PackGzip(this->text)),
      tag(TagOf(this->text)) {}

BrowserPage::BrowserPage()
    : page_("text/html; charset=utf-8", PagePolicy(), PageText()),
      description_("application/json", "default-src 'none'", kOpenApi) {}

bool BrowserPage::IsPath(std::string_view path) {
  return path == kIndex || IsDescription(path);
}

std::optional<BrowserPage::Answer> BrowserPage::AnswerTo(
    std::string_view path, const Header& header) const {
  if (IsDescription(path)) return description_.AnswerTo(header);
  const bool root =
      path == "/" && header("Accept").find("text/html") != std::string::npos;
  if (!root && path != kIndex) return std::nullopt;
  return page_.AnswerTo(header);
}

BrowserPage::Answer BrowserPage::File::AnswerTo(const Header& header) const {
  Answer answer;
  answer.headers = {{"ETag", tag},
                    {"Cache-Control", "no-cache"},
                    // "/" tells other clients the server's health.
                    {"Vary", "Accept, Accept-Encoding"},
                    {"Content-Security-Policy", policy},
                    {"X-Content-Type-Options", "nosniff"},
                    {"Referrer-Policy", "no-referrer"}};
  if (Matches(header("If-None-Match"), tag)) {
    answer.status = 304;
    return answer;
  }
  answer.headers.emplace_back("Content-Type", type);
  answer.body = text;
  if (!packed.empty() && AcceptsGzip(header("Accept-Encoding"))) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
    answer.body = packed;
  }
  return answer;
}

}  // namespace trivium
