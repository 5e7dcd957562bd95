"""A server of one model, and the command line client as its user."""

import concurrent.futures
import json
import pathlib
import subprocess
import tempfile
import time


class Served:
    """A context in which `model` is served as an ordinary user would, with the
    programs trivium-server and trivium of a folder."""

    def __init__(self, programs, model, precision="int8", workers="auto"):
        programs = pathlib.Path(programs)
        self._client = str(programs / "trivium")
        self._command = [
            str(programs / "trivium-server"), "--listen", "127.0.0.1:0",
            "--http-listen", "off", "--metrics-listen", "off",
            "--log-level", "warn", "--workers", str(workers), "--model", f"served={model},precision={precision}"]

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        ports = pathlib.Path(self._folder.name, "ports")
        self._process = subprocess.Popen(
            [*self._command, "--port-file", str(ports)])
        try:
            self._get_to_know(ports)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _get_to_know(self, ports):
        give_up = time.monotonic() + 60
        while not (ports.is_file() and "grpc " in ports.read_text()):
            if self._process.poll() is not None:
                raise SystemExit("the server ended before it was ready; its "
                                 "last lines say why")
            if time.monotonic() > give_up:
                raise SystemExit("the server was not ready after a minute")
            time.sleep(0.02)
        self._address = "127.0.0.1:" + ports.read_text().split()[1]
        [model] = self._call("models", "--json")
        model = json.loads(model)
        self.targets = [one["bcp47"] for one in model["target_languages"]]
        self.isa = model["isa"]

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()

    def _call(self, command, *flags, texts=()):
        """The lines of the client's answer."""
        out = subprocess.run(
            [self._client, command, "--address", self._address, *flags],
            input="".join(text + "\n" for text in texts), text=True,
            check=True, stdout=subprocess.PIPE).stdout
        # Not splitlines(): texts may have other ends of lines in them.
        return out.split("\n")[:-1]

    def _to(self, language):
        # A model of several languages must be told.
        return ["--target-language", language] if len(self.targets) > 1 else []

    def translate(self, texts, language, beam=4, flags=()):
        """A TranslateStreamResponse, as JSON, for each text."""
        flags = ["--beam-size", str(beam), "--json", *flags,
                 *self._to(language)]
        if any("\n" in text for text in texts):
            # No lines of a file.
            batch = 100
            lines = [line for i in range(0, len(texts), batch)
                     for line in self._call("translate", *flags, "--",
                                            *texts[i:i + batch])]
        else:
            lines = self._call("translate", *flags, "--file", "-", texts=texts)
        return [json.loads(line) for line in lines]

    def score(self, pairs, language):
        """How probable each pair's translation is of its source: the logarithm,
        and of how many tokens."""
        lines = self._call("score", *self._to(language), "--file", "-",
                           texts=["\t".join(pair) for pair in pairs])
        return [(float(logprob), int(count)) for logprob, count in
                (line.split("\t") for line in lines)]

    def complete(self, texts, prefixes, language):
        """What Generate adds to the beginning of each text's translation."""
        def one(text, prefix):
            return "\n".join(self._call(
                "generate", f"--target-prefix={prefix}", *self._to(language),
                "--", text))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(one, texts, prefixes))

    def encode(self, texts, language):
        """A vector of length 1 for each text, read as one to be translated to
        `language`."""
        lines = self._call("encode", *self._to(language), "--file", "-",
                           texts=texts)
        return [[float(x) for x in line.split()] for line in lines]
