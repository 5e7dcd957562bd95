"""SentencePiece vocabularies with >>de<<, >>en<< and the line break, as Marian
folders."""

import io
import json
import pathlib

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

# The token before a source names the language to translate to.
LANGUAGES = ("de", "en")
END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"


def language_token(language):
    return f">>{language}<<"


def train(texts, size):
    """Trains a joint model of `size` pieces, with the two control symbols and
    the line break among them."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model,
        vocab_size=size - len(LANGUAGES) - 1,
        model_type="unigram", character_coverage=0.9999, byte_fallback=True,
        eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, num_threads=1,
        input_sentence_size=400000, shuffle_input_sentence=False,
        minloglevel=2)
    return extended(model.getvalue())


def extended(model):
    """Returns the model with the control symbols and the line break at its end.
    (Other models read the line break as a space.) The other pieces keep their
    ids, so trained weights stay valid."""
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    piece_type = sentencepiece_model_pb2.ModelProto.SentencePiece
    known = {piece.piece for piece in proto.pieces}
    for name, kind in (
            *((language_token(one), piece_type.CONTROL) for one in LANGUAGES),
            ("\n", piece_type.USER_DEFINED)):
        if name not in known:
            proto.pieces.add(piece=name, type=kind)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return proto.SerializeToString()


class Vocabulary:
    """A model's pieces and ids: SentencePiece's, except that the padding token,
    which also starts the decoder, has an id that SentencePiece does not
    have."""

    def __init__(self, model, ids=None):
        """`model`: SentencePiece's bytes. `ids`: those of an existing
        vocab.json, or None."""
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(
            model_proto=model)
        pieces = [self._processor.id_to_piece(i)
                  for i in range(self._processor.get_piece_size())]
        if ids is None:
            ids = {piece: i for i, piece in enumerate([*pieces, PADDING])}
        for piece in pieces:
            ids.setdefault(piece, len(ids))
        self.ids = ids
        self._of_processor = [ids[piece] for piece in pieces]
        self._to_processor = {
            mine: theirs for theirs, mine in enumerate(self._of_processor)}
        self.end, self.padding = ids[END], ids[PADDING]
        self.languages = {one: ids[language_token(one)] for one in LANGUAGES}

    def __len__(self):
        return len(self.ids)

    def encode(self, texts):
        """Returns the ids of each text, without language or end token."""
        own = self._of_processor
        return [[own[i] for i in ids]
                for ids in self._processor.encode(list(texts))]

    def decode(self, ids):
        skipped = {self.end, self.padding, *self.languages.values()}
        return self._processor.decode(
            [self._to_processor[i] for i in ids if i not in skipped])

    def write(self, folder):
        folder = pathlib.Path(folder)
        for name in ("source.spm", "target.spm"):
            (folder / name).write_bytes(self.model)
        (folder / "vocab.json").write_text(
            json.dumps(self.ids, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def of_folder(cls, folder):
        """Reads a Marian folder and adds the control symbols and the line break
        that it lacks."""
        folder = pathlib.Path(folder)
        ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        return cls(extended((folder / "source.spm").read_bytes()), ids)
