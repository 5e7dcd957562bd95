"""SentencePiece vocabularies with >>de<<, >>en<< and the line break, as Marian
folders."""

import io
import json
import pathlib

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

# Put before a source: the language to translate to.
LANGUAGES = ("de", "en")
END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"


def language_token(language):
    return f">>{language}<<"


def train(texts, size):
    """A joint model of `size` pieces, the two control symbols and the line
    break among them."""
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
    """The model with the control symbols and the line break, which is a space
    to others, at its end: ids of the other pieces stay, so trained weights stay
    good."""
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
    """A model's pieces and ids: those of SentencePiece, except that the padding
    token, which also starts the decoder, has an id that SentencePiece has
    not."""

    def __init__(self, model, ids=None):
        """`model`: SentencePiece's bytes. `ids`: of an existing vocab.json."""
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
        """Ids of each text, without language or end."""
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
        """Of a Marian folder, with what it lacks of the control symbols and
        the line break."""
        folder = pathlib.Path(folder)
        ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        return cls(extended((folder / "source.spm").read_bytes()), ids)
