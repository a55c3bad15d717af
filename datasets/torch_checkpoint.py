"""Reads a legacy (pre-1.6, not zipped) torch checkpoint of plain tensors without torch and without running code."""
import collections
import pickle

import numpy as np

STORAGES = {"FloatStorage": "<f4", "LongStorage": "<i8", "HalfStorage": "<f2", "DoubleStorage": "<f8",
            "IntStorage": "<i4"}

_Tensor = collections.namedtuple("_Tensor", "storage offset size stride")


def _rebuild_tensor(storage, offset, size, stride, *_):
    return _Tensor(storage, offset, size, stride)


def _rebuild_parameter(tensor, *_):
    return tensor


class _Unpickler(pickle.Unpickler):
    """Knows tensors, parameters and ordered dictionaries; refuses everything else."""

    def find_class(self, module, name):
        known = {("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
                 ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
                 ("collections", "OrderedDict"): collections.OrderedDict}
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in STORAGES:
            return name
        raise pickle.UnpicklingError("not allowed in a checkpoint: %s.%s" % (module, name))

    def persistent_load(self, pid):
        return pid[1], pid[2]  # storage type, key


def load(path):
    """{name: array} of the checkpoint's tensors."""
    with open(path, "rb") as f:
        for _ in range(3):
            pickle.load(f)  # magic number, protocol, system info
        unpickler = _Unpickler(f)
        tensors, keys = unpickler.load(), unpickler.load()
        kinds = {t.storage[1]: t.storage[0] for t in tensors.values()}
        data = {}
        for key in keys:
            length = int(np.fromfile(f, "<i8", 1)[0])
            data[key] = np.fromfile(f, STORAGES[kinds[key]], length)
    arrays = {}
    for name, t in tensors.items():
        values = data[t.storage[1]]
        strides = [step * values.itemsize for step in t.stride]
        arrays[name] = np.lib.stride_tricks.as_strided(values[t.offset:], t.size, strides).copy()
    return arrays
