#include "server/translation/markup_elements.h"

#include <algorithm>
#include <array>

namespace trivium {
namespace {

template <size_t size>
bool Has(const std::array<std::string_view, size>& sorted,
         std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

// Their tags end sentences.
constexpr std::array<std::string_view, 70> kBlocks = {
    "address",  "article",    "aside",    "blockquote", "body",     "br",
    "button",   "caption",    "center",   "col",        "colgroup", "dd",
    "details",  "dialog",     "dir",      "div",        "dl",       "dt",
    "fieldset", "figcaption", "figure",   "footer",     "form",     "frame",
    "frameset", "h1",         "h2",       "h3",         "h4",       "h5",
    "h6",       "head",       "header",   "hgroup",     "hr",       "html",
    "legend",   "li",         "link",     "listing",    "main",     "menu",
    "meta",     "nav",        "noscript", "ol",         "optgroup", "option",
    "p",        "plaintext",  "pre",      "search",     "section",  "select",
    "style",    "summary",    "table",    "tbody",      "td",       "template",
    "textarea", "tfoot",      "th",       "thead",      "title",    "tr",
    "track",    "ul",         "video",    "xmp"};

// Not translated; in a sentence they stand for a word.
constexpr std::array<std::string_view, 6> kNames = {"code", "kbd", "math",
                                                    "samp", "tt",  "var"};
// Not translated; in a sentence they stand for nothing.
constexpr std::array<std::string_view, 9> kObjects = {
    "audio",  "canvas",  "iframe", "noembed", "noframes",
    "object", "picture", "script", "svg"};
// Not translated; they end sentences. All of them are also in kBlocks.
constexpr std::array<std::string_view, 8> kListings = {
    "listing",  "plaintext", "pre",   "style",
    "template", "textarea",  "video", "xmp"};

}  // namespace

ElementRole RoleOf(std::string_view name) {
  if (Has(kListings, name)) return ElementRole::kListing;
  if (Has(kObjects, name)) return ElementRole::kObject;
  if (Has(kNames, name)) return ElementRole::kName;
  return Has(kBlocks, name) ? ElementRole::kBlock : ElementRole::kInline;
}

}  // namespace trivium
