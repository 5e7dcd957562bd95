"""translate_with_bergamot.py FOLDER: translates lines with Bergamot's engine, greedily.

FOLDER has model.bin, in the form of Bergamot's fork of Marian, and vocab.spm.
Standard input has a sentence a line, standard output a translation a line. For
the Python 3.10 in which PyPI's bergamot 0.4.5 is installed, which has wheels
for no later one. Activations are int8 with scales of their own: models that
were not made for it have no others.
"""

import importlib.util
import sys
import types

CONFIG = """
relative-paths: false
models: [{folder}/model.bin]
vocabs: [{folder}/vocab.spm, {folder}/vocab.spm]
beam-size: 1
normalize: 1
word-penalty: 0
mini-batch: 64
mini-batch-words: 8192
maxi-batch: 1000
maxi-batch-sort: src
workspace: 128
max-length-break: 500
max-length-factor: 3
skip-cost: true
cpu-threads: 0
quiet: true
quiet-translation: true
gemm-precision: int8shiftAll
alignment: soft
ssplit-mode: sentence
"""


def engine():
    """Its extension module alone: the package asks the network for models when
    it is imported."""
    package = types.ModuleType("bergamot")
    package.__path__ = importlib.util.find_spec(
        "bergamot").submodule_search_locations
    sys.modules["bergamot"] = package
    from bergamot import _bergamot
    return _bergamot


def main():
    bergamot = engine()
    service = bergamot.Service(
        bergamot.ServiceConfig(numWorkers=1, cacheSize=0, logLevel="off"))
    model = service.modelFromConfig(CONFIG.format(folder=sys.argv[1]))
    texts = [line.rstrip("\n") for line in sys.stdin]
    options = bergamot.ResponseOptions(
        qualityScores=False, alignment=False, HTML=False,
        sentenceMappings=False)
    for response in service.translate(model, bergamot.VectorString(texts),
                                      options):
        print(response.target.text)


if __name__ == "__main__":
    main()
