"""The training's parts that need PyTorch; CTest leaves this one out, because
Debian's Python has none:

    python tests/quality/training_test.py
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest

TRAINING = (pathlib.Path(__file__).resolve().parents[2]
            / "model/embedded/training")
sys.path.insert(0, str(TRAINING))

import numpy as np  # noqa: E402
import torch  # noqa: E402

import batch as batches  # noqa: E402
import decode  # noqa: E402
import distil  # noqa: E402
import grow  # noqa: E402
import marian  # noqa: E402
import muon  # noqa: E402
import objective  # noqa: E402
import packed  # noqa: E402
import train  # noqa: E402
import vocabulary  # noqa: E402
from export import load_checkpoint, load_folder  # noqa: E402

SMALL = ["--d-model", "32", "--ffn", "64", "--encoder-layers", "1",
         "--decoder-layers", "1", "--heads", "2", "--tokens", "256",
         "--threads", "1", "--device", "cpu", "--validate-every", "1000"]


def run(script, *arguments):
    subprocess.run([sys.executable, "-B", TRAINING / f"{script}.py",
                    *map(str, arguments)], check=True,
                   stdout=subprocess.DEVNULL)


def refusal(script, *arguments):
    """What the script says as it ends with status 1, or with 2, for flags."""
    done = subprocess.run(
        [sys.executable, "-B", TRAINING / f"{script}.py",
         *map(str, arguments)], text=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, timeout=60)
    return done.stderr if done.returncode in (1, 2) else ""


class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        generator = random.Random(1)
        words = {"dog": "Hund", "cat": "Katze", "sees": "sieht",
                 "hears": "hört", "house": "Haus", "tree": "Baum"}
        lines = []
        for _ in range(600):
            some = generator.choices(list(words), k=generator.randint(1, 9))
            lines.append(" ".join(some) + "\t"
                         + " ".join(words[word] for word in some) + "\n")
        corpus = cls.work / "corpus.tsv"
        corpus.write_text("".join(lines), encoding="utf-8")
        cls.data = cls.work / "data"
        run("prepare", "--corpus", f"{corpus}=1.5", "--output", cls.data,
            "--vocabulary-size", 290, "--validation-pairs", 20)
        cls.whole = cls.work / "whole"
        run("train", "--data", cls.data, "--output", cls.whole,
            "--steps", 8, *SMALL)
        cls.words = vocabulary.Vocabulary.of_folder(cls.data)

    def test_stopped_after_every_step_it_gives_the_same_weights(self):
        pieces = self.work / "pieces"
        for _ in range(8):
            run("train", "--data", self.data, "--output", pieces, "--steps",
                8, "--minutes", 1e-9, *SMALL)
        one, other = (torch.load(folder / "checkpoint.pt", weights_only=True)
                      for folder in (self.whole, pieces))
        self.assertEqual(other["step"], 8)
        for part in ("model", "average"):
            for name, tensor in one[part].items():
                self.assertTrue(torch.equal(tensor, other[part][name]), name)

    def test_batches_hold_every_pair_and_little_padding(self):
        data = packed.Packed.load(self.data / "data.npz")
        made = packed.batches(data, 1, 0, 512, 320)
        seen = np.bincount(np.concatenate(made), minlength=len(data))
        longest = data.longest()
        for section in data.sections:
            part = slice(section.first, section.last)
            self.assertTrue(((seen[part] == 1) | (seen[part] == 2)).all())
            count = section.last - section.first
            self.assertEqual(seen[part].sum(),
                             round(section.weight * count))
        places = sum(2 * len(one) * (longest[one].max() + 1) for one in made)
        tokens = sum(2 * (longest[one] + 1).sum() for one in made)
        self.assertLess(1 - tokens / places, 0.05)
        self.assertTrue(all(
            len(one) == 1 or 2 * len(one) * (longest[one].max() + 1) <= 512
            for one in made))

    def test_batches_of_fixed_shapes_leave_out_few_pairs(self):
        data = packed.Packed.load(self.data / "data.npz")
        made = packed.fixed_batches(data, 1, 0, 512, 320)
        longest = data.longest()
        sizes = {}
        for pairs, length in made:
            self.assertLessEqual(longest[pairs].max() + 1, length)
            sizes.setdefault(length, set()).add(len(pairs))
            batch = batches.make(data, pairs, self.words, 1, 2, length=length)
            self.assertEqual(batch.targets.shape, (2 * len(pairs), length))
            self.assertEqual(batch.sources.shape, (2 * len(pairs), length + 1))
            self.assertEqual(batch.tokens, int(batch.target_mask.sum()))
        for length, counts in sizes.items():
            self.assertEqual(counts, {max(1, 512 // (2 * length))})
        drawn = len(packed.epoch(data, 1, 0, 320))
        held = sum(len(pairs) for pairs, _ in made)
        last = max(packed.fixed_lengths(int(longest.max())))
        self.assertLess(drawn - held, max(1, 512 // (2 * last)) + 1)

    def test_the_loss_in_sums_is_the_loss(self):
        torch.manual_seed(1)
        model = load_checkpoint(self.whole / "checkpoint.pt", self.words)
        states = torch.randn(3, 5, model.shape.d_model)
        targets = torch.randint(0, 99, (3, 5))
        targets[1, 3:] = model.padding
        torch.testing.assert_close(
            objective.token_loss(states, model, targets, 0.1),
            objective.fused_token_loss(states, model, targets, 0.1))

    def test_a_grown_model_translates_like_the_small_one(self):
        torch.manual_seed(1)
        small = load_checkpoint(self.whole / "checkpoint.pt", self.words)
        old = small.shape
        large = grow.grown(small, marian.Shape(
            old.vocabulary, 2 * old.d_model, old.encoder_layers,
            old.decoder_layers, 2 * old.heads, 2 * old.ffn), 0.0).eval()
        # Those of the wider model have frequencies that the small one lacks.
        large.positions = small.positions.repeat_interleave(2, 1)
        sources = torch.randint(3, 99, (4, 7))
        targets = torch.randint(3, 99, (4, 6))
        mask = torch.arange(7) < torch.tensor([[7], [4], [5], [7]])
        logits = [model.logits(model.decode(
            model.encode(sources, mask), mask, targets))
            for model in (small, large)]
        torch.testing.assert_close(*logits, rtol=1e-3, atol=1e-4)

    def test_a_batch_holds_its_pairs_texts(self):
        data = packed.Packed.load(self.data / "data.npz")
        pairs = [5, 0, len(data) - 1]
        made = batches.make(data, pairs, self.words, 1, 2, False)
        for row in range(6):
            column = packed.ENGLISH if row < 3 else packed.GERMAN
            language = "de" if row < 3 else "en"
            pair = pairs[row % 3]
            self.assertEqual(
                made.sources[row][made.mask[row]].tolist(),
                batches.source(data.text(pair, column), language,
                               self.words).tolist())
            changed = data.text(pair, column + 2)
            other = packed.GERMAN if row < 3 else packed.ENGLISH
            self.assertEqual(
                made.targets[row][made.target_mask[row]].tolist(),
                [*(changed if len(changed) else data.text(pair, other)),
                 self.words.end])
        for ids, mask in ((made.sources, made.mask),
                          (made.targets, made.target_mask)):
            self.assertTrue((ids[~mask] == self.words.padding).all())

    def test_muon_is_torchs(self):
        torch.manual_seed(1)
        start = [torch.randn(shape) for shape in ((8, 8), (8, 32), (32, 8))
                 for _ in range(2)]
        made = []
        for kind in (muon.Muon, torch.optim.Muon):
            matrices = [torch.nn.Parameter(one.clone()) for one in start]
            flags = {} if kind is muon.Muon else {
                "adjust_lr_fn": "match_rms_adamw"}
            optimizer = kind(matrices, lr=0.1, weight_decay=0.01, **flags)
            for step in range(3):
                torch.manual_seed(step)
                for matrix in matrices:
                    matrix.grad = torch.randn_like(matrix)
                optimizer.step()
            made.append(matrices)
        for mine, theirs in zip(*made):
            torch.testing.assert_close(mine, theirs, rtol=0.02, atol=0.01)

    def test_whole_texts_keep_their_lines(self):
        data = packed.Packed.load(self.data / "data.npz")
        corpus, section = data.sections[0], data.sections[-1]
        self.assertEqual(section.name, "texts+")
        self.assertEqual(section.last - section.first,
                         int(0.1 * 1.5 * (corpus.last - corpus.first)))
        seen = set()
        for pair in range(section.first, section.last):
            english, german = (
                self.words.decode(data.text(pair, column).tolist())
                for column in (packed.ENGLISH, packed.GERMAN))
            self.assertEqual(english.count("\n"), german.count("\n"))
            seen.update(form for form in ("\n", "\n\n", "\n- ", "\n2. ", "# ")
                        if form in english)
        self.assertEqual(len(seen), 5, seen)

    def test_a_line_break_is_a_piece(self):
        text = "Hund\nKatze\n\n- Haus"
        [ids] = self.words.encode([text])
        self.assertEqual(ids.count(self.words.ids["\n"]), 3)
        self.assertEqual(self.words.decode(ids), text)

    def test_a_folder_holds_what_the_checkpoint_holds(self):
        folder = self.work / "folder"
        run("export", "--data", self.data, "--checkpoint",
            self.whole / "checkpoint.pt", "--output", folder)
        words = vocabulary.Vocabulary.of_folder(folder)
        self.assertEqual(words.ids, self.words.ids)
        loaded = load_folder(folder, words).state_dict()
        for name, tensor in load_checkpoint(
                self.whole / "checkpoint.pt", self.words).state_dict().items():
            self.assertTrue(torch.equal(tensor.half().float(), loaded[name]))

    def test_several_checkpoints_give_their_mean(self):
        state = torch.load(self.whole / "checkpoint.pt", weights_only=True)
        for tensor in state["average"].values():
            tensor.mul_(3)
        other = self.whole / "other.pt"
        torch.save(state, other)
        folder = self.work / "mean"
        run("export", "--data", self.data, "--checkpoint",
            self.whole / "checkpoint.pt", other, "--output", folder)
        mean = load_folder(folder, self.words).state_dict()
        for name, tensor in load_checkpoint(
                self.whole / "checkpoint.pt", self.words).state_dict().items():
            torch.testing.assert_close(mean[name], 2 * tensor,
                                       rtol=1e-3, atol=1e-4)

    def test_rows_of_a_search_do_not_touch(self):
        embedded = TRAINING.parent
        words = vocabulary.Vocabulary.of_folder(embedded)
        model = load_folder(embedded, words).eval()
        texts = ["I ate an apple.", "No.", "Where is the train station?"]
        sources = [batches.source(ids, None, words)
                   for ids in words.encode(texts)]
        together = batches.padded(sources, words.padding)
        for search in (decode.greedy, decode.beam):
            found = search(model, *together, words.end)
            for source, ids in zip(sources, found):
                alone = batches.padded([source], words.padding)
                self.assertEqual(search(model, *alone, words.end), [ids])
        self.assertEqual(words.decode(decode.beam(
            model, *together, words.end)[0]), "Ich habe einen Apfel gegessen.")

    def test_distilled_pairs_keep_their_sources(self):
        folder = self.work / "teacher"
        run("export", "--data", self.data, "--checkpoint",
            self.whole / "checkpoint.pt", "--output", folder)
        run("distil", "--data", self.data, "--teacher", folder,
            "--device", "cpu", "--beam", 2)
        before, after = (packed.Packed.load(self.data / name)
                         for name in ("data.npz", "distilled.npz"))
        names = [section.name for section in after.sections]
        self.assertEqual(names, ["corpus", "corpus (teacher)", "corpus+",
                                 "texts+"])
        teacher = after.sections[1]
        for i in range(teacher.last - teacher.first):
            for column in (packed.ENGLISH, packed.GERMAN):
                self.assertEqual(
                    after.text(teacher.first + i, column).tolist(),
                    before.text(i, column).tolist())

    def test_shares_make_what_one_process_makes(self):
        folder = self.work / "teacher of shares"
        run("export", "--data", self.data, "--checkpoint",
            self.whole / "checkpoint.pt", "--output", folder)
        flags = ["--data", self.data, "--teacher", folder, "--device", "cpu",
                 "--beam", 1]
        whole = self.data / "distilled.npz"
        whole.unlink(missing_ok=True)
        run("distil", *flags, "--share", "1/2")
        self.assertFalse(whole.exists())
        run("distil", *flags, "--minutes", 1e-9)  # finds all of it made
        names = [section.name
                 for section in packed.Packed.load(whole).sections]
        self.assertIn("corpus (teacher)", names)

    def test_parts_of_another_teacher_or_other_data_are_not_mixed_in(self):
        teacher = self.work / "any teacher"
        teacher.mkdir()
        options = types.SimpleNamespace(data=self.work, train="any.npz",
                                        teacher=teacher, beam=4, longest=100)
        folders = []
        for data, weights, options.beam in (
                ("a", "a", 4), ("b", "a", 4), ("a", "b", 4), ("a", "a", 2),
                ("a", "a", 4)):
            (self.work / "any.npz").write_text(data)
            (teacher / "model.safetensors").write_text(weights)
            folders.append(distil.parts_folder(options))
        self.assertEqual(len(set(folders)), 4)
        self.assertEqual(folders[0], folders[-1])

    def test_no_corpus_has_a_side_of_a_pair_kept_for_validation(self):
        lines = [f"dog {word}\tHund {word}\n" for word in
                 ("a b c d e f g h i j k l m n o p q r s t").split()]
        paths = [self.work / "first.tsv", self.work / "second.tsv"]
        for path in paths:
            path.write_text("".join(lines), encoding="utf-8")
        data = self.work / "kept"
        run("prepare", "--corpus", f"{paths[0]}=1", "--corpus", f"{paths[1]}=1",
            "--output", data, "--init", self.data, "--validation-pairs", 2,
            "--variants", 0, "--texts", 0)
        kept, trained = (packed.Packed.load(data / name)
                         for name in ("validation.npz", "data.npz"))
        self.assertEqual(len(kept), 2)
        self.assertEqual(len(trained), 2 * 18)
        texts = [[one.text(i, packed.ENGLISH).tolist()
                  for i in range(len(one))] for one in (kept, trained)]
        self.assertFalse([text for text in texts[0] if text in texts[1]])

    def test_what_cannot_be_is_said(self):
        corpus = self.work / "small.tsv"
        corpus.write_text("Hello\tHallo\n", encoding="utf-8")
        prepare = "prepare", "--output", self.work / "unused", "--corpus"
        self.assertIn("small.tsv is not FILE=WEIGHT",
                      refusal(*prepare, corpus))
        self.assertIn("small.tsv=often is not FILE=WEIGHT",
                      refusal(*prepare, f"{corpus}=often"))
        self.assertIn("small: of 1 pairs", refusal(*prepare, f"{corpus}=1"))
        self.assertIn("3/2 is not a share", refusal(
            "distil", "--data", self.data, "--teacher", self.work, "--share",
            "3/2"))
        self.assertIn("--longest", refusal(
            "train", "--data", self.data, "--output", self.work / "unused",
            "--steps", 1, "--longest", 0, *SMALL))

    def test_rates_rise_and_fall(self):
        def rates(**given):
            options = types.SimpleNamespace(steps=10, decay=0.4, **given)
            return [train.rate(step, options) for step in range(11)]
        self.assertEqual(rates(warm_up=2)[:3], [0.5, 1, 1])
        self.assertEqual(rates(warm_up=0), rates(warm_up=1))
        self.assertEqual(rates(warm_up=0)[5:], [1, 1, 0.75, 0.5, 0.25, 0])

    def test_a_vocabulary_keeps_its_ids_when_it_gets_languages(self):
        embedded = TRAINING.parent
        words = vocabulary.Vocabulary.of_folder(embedded)
        self.assertEqual(words.decode(words.encode(["Guten Morgen!"])[0]),
                         "Guten Morgen!")
        self.assertGreaterEqual(min(words.languages.values()), 2)
        self.assertEqual(len(set(words.ids.values())), len(words))


if __name__ == "__main__":
    unittest.main()
