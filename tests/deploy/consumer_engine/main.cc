// consumer FOLDER LANGUAGE: translates and encodes each line of standard input.
#include <trivium/engine.h>

#include <iostream>
#include <thread>

int main(int argc, char** argv) {
  int threads = 0;
  trivium::LocalEngine::Options options;
  options.models = {{.folder = argc > 2 ? argv[1] : ""}};
  options.log = [](auto, std::string_view line) {
    std::cerr << "log: " << line << std::endl;
  };
  options.start_thread = [&threads](std::function<void()> run) {
    ++threads;
    auto thread = std::make_shared<std::thread>(std::move(run));
    return [thread] { thread->join(); };
  };
  const auto engine = trivium::LocalEngine::Create(options);
  if (!engine.ok()) {
    std::cerr << engine.status().message() << std::endl;
    return 1;
  }
  std::cout << threads << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    trivium::v1::TranslateRequest translate;
    translate.mutable_options()->set_target_language(argv[2]);
    translate.add_inputs()->set_text(line);
    const auto translated = (*engine)->Translate(translate);
    trivium::v1::EncodeRequest encode;
    encode.set_target_language(argv[2]);
    encode.add_inputs()->set_text(line);
    const auto encoded = (*engine)->Encode(encode);
    if (!translated.ok()) std::cout << translated.status() << std::endl;
    if (!encoded.ok()) std::cout << encoded.status() << std::endl;
    if (!translated.ok() || !encoded.ok()) continue;
    std::cout << encoded->results(0).embedding_size() << ' '
              << translated->results(0).hypotheses(0).text() << std::endl;
  }
}
