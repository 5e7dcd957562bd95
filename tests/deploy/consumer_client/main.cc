// consumer ADDRESS LANGUAGE: translates each line of standard input.
#include <trivium/client.h>

#include <iostream>

int main(int argc, char** argv) {
  const auto client =
      trivium::Client::Create({.address = argc > 2 ? argv[1] : ""});
  if (!client.ok()) {
    std::cerr << client.status().message() << std::endl;
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    trivium::v1::TranslateRequest request;
    request.mutable_options()->set_target_language(argv[2]);
    request.add_inputs()->set_text(line);
    const auto response = (*client)->Translate(request);
    if (!response.ok()) {
      std::cout << response.status() << std::endl;
      continue;
    }
    std::cout << response->results(0).hypotheses(0).text() << std::endl;
  }
}
