#ifndef TRIVIUM_CLIENT_PAGES_PAGES_H_
#define TRIVIUM_CLIENT_PAGES_PAGES_H_

#include "base/html_page.h"

namespace trivium {

extern const PageFiles kAttentionPage;
extern const PageFiles kBeamsPage;
extern const PageFiles kExplainPage;
extern const PageFiles kLoadPage;

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_PAGES_PAGES_H_
