#!/usr/bin/env python3
"""Makes what decoders that translate are compared with: the prompts that
Transformers' apply_chat_template writes, and what Transformers' generate says
to them. Writes tokenizer.json and translators.json beside itself.

    make_translators.py

The models are tiny random ones of tests/golden, with the templates here. Needs
PyPI's torch, transformers (5.24 made the committed files) and safetensors.
"""

import json
import pathlib
import shutil
import tempfile

import torch
import transformers

HERE = pathlib.Path(__file__).parent
GOLDENS = HERE.parent.parent / "golden"
SPECIALS = ["<bos>", "<start_of_turn>", "<end_of_turn>", "<user>",
            "<assistant>", "<end>"]
TEXT = "The cat sat: ten of us, and 3 mice."

# Each: the golden, the template, and chats with the languages that a call
# names. The messages are those of the models' cards.
HY15 = ("Translate the following segment into {}, without additional "
        "explanation.\n\n{}")
HY15_CHINESE = "将以下文本翻译为{}，注意只需要输出翻译后的结果，不要额外解释：\n\n{}"
HY = "把下面的文本翻译成{}，不要额外解释。\n\n{}"
HY2 = ("Translate the following text into {}. Note that you should only output "
       "the translated result without any additional explanation:\n\n{}")
PLUS = "Translate the following {0} source text to {1}:\n{0}: {2}\n{1}: "
TOWER = "Translate the following text from {0} into {1}.\n{0}: {2}\n{1}:"
EURO = "Translate the following {0} source text to {1}:\n{0}: {2} \n{1}: "


def fields(source, target):
    return [{"type": "text", "source_lang_code": source,
             "target_lang_code": target, "text": TEXT}]


CASES = [
    ("translategemma", "gemma3_text.lm", "translategemma", [
        ("en", "de", fields("en", "de")), ("fr", "zh", fields("fr", "zh"))]),
    ("hy-mt2", "hunyuan_v1_dense.lm", "hunyuan", [
        ("en", "de", HY2.format("German", TEXT)),
        ("zh", "en", HY2.format("English", TEXT))]),
    ("hy-mt1.5", "hunyuan_v1_dense.lm", "hunyuan", [
        ("en", "de", HY15.format("German", TEXT)),
        ("en", "zh-Hant", HY15_CHINESE.format("繁体中文", TEXT)),
        ("zh", "en", HY15_CHINESE.format("英语", TEXT))]),
    ("hunyuan-mt", "hunyuan_v1_dense.lm", "hunyuan", [
        ("", "fr", HY15.format("French", TEXT)),
        ("en", "zh", HY.format("中文", TEXT))]),
    ("tower-plus", "llama.lm", "tower", [
        ("en", "pt-BR", PLUS.format("English", "Portuguese (Brazil)", TEXT))]),
    ("tower", "llama.lm", "tower", [
        ("pt", "en", TOWER.format("Portuguese", "English", TEXT)),
        ("en", "de", TOWER.format("English", "German", TEXT))]),
    ("eurollm", "llama.lm", "tower", [
        ("en", "mt", EURO.format("English", "Maltese", TEXT))]),
]


def make_tokenizer():
    tokenizer = json.loads((HERE.parent / "chats/tokenizer.json").read_text())
    added = tokenizer["added_tokens"]
    for token in SPECIALS:
        added.append(added[0] | {"id": added[-1]["id"] + 1, "content": token})
    (HERE / "tokenizer.json").write_text(
        json.dumps(tokenizer, ensure_ascii=False, indent=1) + "\n")


def make_folder(golden, template, folder):
    for file in ("generation_config.json", "model.safetensors"):
        shutil.copyfile(GOLDENS / golden / file, folder / file)
    config = json.loads((GOLDENS / golden / "config.json").read_text())
    config["max_position_embeddings"] = 1024
    (folder / "config.json").write_text(json.dumps(config))
    shutil.copyfile(HERE / "tokenizer.json", folder / "tokenizer.json")
    shutil.copyfile(HERE / f"{template}.jinja", folder / "chat_template.jinja")
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>"}))


def answer(model, prompt, **options):
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids),
                         do_sample=False, eos_token_id=None, **options)
    return out[0].tolist()[len(prompt):]


@torch.no_grad()
def main():
    make_tokenizer()
    cases = []
    for name, golden, template, chats in CASES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            make_folder(golden, template, folder)
            tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, attn_implementation="eager").float().eval()
        for source, target, content in chats:
            prompt = tokenizer.apply_chat_template(
                [{"role": "user", "content": content}],
                add_generation_prompt=True, return_dict=False)
            cases.append({
                "translate_with": name, "golden": golden, "template": template,
                "source": source, "target": target, "prompt": prompt,
                "greedy": answer(model, prompt, max_new_tokens=20),
                "beam4": answer(model, prompt, max_new_tokens=12, num_beams=4),
            })
    (HERE / "translators.json").write_text(json.dumps(
        {"transformers": transformers.__version__, "text": TEXT,
         "cases": cases}, ensure_ascii=False, indent=1) + "\n")


main()
