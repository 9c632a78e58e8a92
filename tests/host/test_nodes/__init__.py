"""Nodes for tests only, loaded as a second pack beside ours; they exist to make a host do what a test needs."""

import gc
import json
import time
from collections import Counter

import comfy.model_management

from .dummy import DummyModel


class Text:
    """Hands a text on; the smallest node there is."""

    CATEGORY = "mizuoto/tests"
    RETURN_TYPES = ("STRING",)
    FUNCTION = "run"

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"text": ("STRING", {"default": ""})}}

    def run(self, text):
        return (text,)


class Texts(Text):
    """A list of the texts between bars."""

    OUTPUT_IS_LIST = (True,)

    def run(self, text):
        return (text.split("|"),)


class Fail(Text):
    """Raises what it is given."""

    def run(self, text):
        raise ValueError(text)


class Wait(Text):
    """Runs until it is interrupted, or for `seconds`."""

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"text": ("STRING", {"default": ""}), "seconds": ("FLOAT", {"default": 30.0})}}

    def run(self, text, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            comfy.model_management.throw_exception_if_processing_interrupted()
            time.sleep(0.01)
        return (text,)


class LoadedModels(Text):
    """The models that the host counts as loaded, newest first, as JSON; `text` only tells one use from another.

    Each is {"class", "size", "loaded"}, the last two in bytes.
    """

    def run(self, text):
        models = [entry.model for entry in comfy.model_management.current_loaded_models if entry.model is not None]
        facts = [
            {"class": type(model.model).__name__, "size": model.model_size(), "loaded": model.loaded_size()}
            for model in models
        ]
        return (json.dumps(facts),)


class UnloadAll(Text):
    """Makes the host unload every model, then hands the text on."""

    def run(self, text):
        comfy.model_management.unload_all_models()
        return (text,)


class Alive(Text):
    """How many objects of the given classes (names, separated by commas) exist in the process, as JSON."""

    @classmethod
    def IS_CHANGED(cls, text):  # noqa: N802
        return time.time()

    def run(self, text):
        found = Counter(type(thing).__name__ for thing in gc.get_objects())
        return (json.dumps({name: found[name] for name in text.split(",")}),)


class Anything(str):
    """A type name that equals every other."""

    def __ne__(self, other):
        return False


class Any(Text):
    """Hands anything on; `number` tells one use from another."""

    RETURN_TYPES = (Anything("*"),)

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"value": (Anything("*"),), "number": ("INT", {"default": 0})}}

    def run(self, value, number):
        return (value,)


class Out(Any):
    """Ends a prompt."""

    OUTPUT_NODE = True
    RETURN_TYPES = ()

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"value": (Anything("*"),)}}

    def run(self, value):
        return {"ui": {"text": [str(value)]}}


class Shape(Text):
    """Facts about an AUDIO, as JSON."""

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"audio": ("AUDIO",)}}

    def run(self, audio):
        waveform = audio["waveform"]
        facts = {"shape": list(waveform.shape), "dtype": str(waveform.dtype), "device": str(waveform.device)}
        return (json.dumps({**facts, "contiguous": waveform.is_contiguous(), "sample_rate": audio["sample_rate"]}),)


NODE_CLASS_MAPPINGS = {
    "MizuotoTestAlive": Alive,
    "MizuotoTestAny": Any,
    "MizuotoTestOut": Out,
    "MizuotoTestDummyModel": DummyModel,
    "MizuotoTestShape": Shape,
    "MizuotoTestText": Text,
    "MizuotoTestTexts": Texts,
    "MizuotoTestFail": Fail,
    "MizuotoTestWait": Wait,
    "MizuotoTestLoadedModels": LoadedModels,
    "MizuotoTestUnloadAll": UnloadAll,
}
