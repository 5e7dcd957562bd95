#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_BROWSER_PAGE_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_BROWSER_PAGE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// Serves server/page: the page at / and /index.html, and /openapi.json. They
// are the same for everybody and hold nothing of this server, so they need no
// token. The page's calls need what any client's do.
//
// The page may run its own script and call the server that it came from, and
// nothing else: its Content-Security-Policy names the hashes of its scripts and
// styles. All its addresses are relative to where it was found, so a proxy may
// put it under any prefix.
class BrowserPage {
 public:
  using Header = std::function<std::string(const char* name)>;

  struct Answer {
    int status = 200;  // or 304
    std::vector<std::pair<std::string, std::string>> headers;
    std::string_view body;  // lives as long as the page
  };

  BrowserPage();

  // True for paths of which GET is answered here. "/" is not among them, since
  // it has other answers.
  static bool IsPath(std::string_view path);

  // Returns the answer to GET or HEAD. Unset if the path is none of these, or
  // the client of "/" is no browser.
  std::optional<Answer> AnswerTo(std::string_view path,
                                 const Header& header) const;

 private:
  // A file in both codings.
  struct File {
    File(std::string type, std::string policy, std::string text);
    Answer AnswerTo(const Header& header) const;

    const std::string type, policy, text, packed, tag;
  };

  const File page_;
  const File description_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_BROWSER_PAGE_H_
