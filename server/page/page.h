#ifndef TRIVIUM_SERVER_PAGE_PAGE_H_
#define TRIVIUM_SERVER_PAGE_PAGE_H_

#include "base/html_page.h"

namespace trivium {

// The page for browsers. Its data (see inside.js) are
//   pages: {attention, beams, explain}, each {html, style, script}
extern const PageFiles kServerPage;
// Pages of client/pages, which it shows in frames.
extern const PageFiles kAttentionPicture;
extern const PageFiles kBeamsPicture;
extern const PageFiles kExplainPicture;
// docs/openapi.json
extern const char kOpenApi[];

}  // namespace trivium

#endif  // TRIVIUM_SERVER_PAGE_PAGE_H_
