"""Where the values of a line go."""

import copy
import json

import pytest
from mizuoto.cli.batch.items import Line
from mizuoto.cli.batch.workflow import DEFAULT, Target, Workflow
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.tests.cli.batch.fake import WORKFLOW


def changed(**nodes):
    return Workflow(copy.deepcopy(WORKFLOW) | nodes, "api.json")


def line(**values):
    return Line(7, "7", {"text": "Hello.", **values})


def made(workflow, values, *mapping):
    (request,) = workflow.requests("lines.csv", [values], workflow.targets(values.values, mapping))
    return request


def test_the_default_is_the_built_in_voice():
    request = made(Workflow.load(DEFAULT), line(seed="5"))
    inputs = request.prompt["2"]["inputs"]
    assert inputs["text"] == "Hello." and inputs["seed"] == request.seed == 5
    assert request.prompt["1"]["inputs"]["model"] == "hibari (built-in)"


def test_text_and_seed_go_to_the_node_that_speaks_and_the_rest_stays():
    workflow = changed()
    request = made(workflow, line())
    expected = copy.deepcopy(WORKFLOW)
    expected["2"]["inputs"]["text"] = "Hello."
    assert request.prompt == expected
    assert request.seed == 1 and workflow.nodes == WORKFLOW


def test_the_digest_tells_every_difference():
    requests = [
        made(changed(), line()),
        made(changed(), line(seed=2)),
        made(changed(), line(text="Other.")),
        made(changed(**{"1": {"class_type": "MizuotoLoadModel", "inputs": {"model": "other"}}}), line()),
    ]
    assert len({request.digest for request in requests}) == 4
    assert made(changed(), line()).digest == made(changed(), line(note="x")).digest == requests[0].digest


@pytest.mark.parametrize("node", ["2", "MizuotoSpeak", "Say"])
def test_a_node_is_named_by_id_class_or_title(node):
    target = changed().targets(["text", "take"], [f"take={node}.seed"])[0]
    assert target == Target("take", "2", "seed")


def test_a_column_may_go_to_several_inputs():
    request = made(changed(), line(), "text=2.text", "text=3.filename_prefix")
    assert (request.prompt["2"]["inputs"]["text"], request.prompt["3"]["inputs"]["filename_prefix"]) == ("Hello.",) * 2


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ("text", '"--map text" must read column=node.input'),
        ("text=2", "must read column=node.input"),
        ("sed=2.seed", r'no column "sed", but text, seed\. Did you mean "seed"\?'),
        ("seed=4.seed", r'no node "4", but 1 \(MizuotoLoadModel\), 2 \(MizuotoSpeak\), 3'),
        ("seed=MizuotoSpaek.seed", r'Did you mean "MizuotoSpeak"\?'),
        ("seed=2.sed", r'has no such input, but model, text, seed\. Did you mean "seed"\?'),
        ("seed=2.model", "it comes from another node"),
    ],
)
def test_a_wrong_mapping_is_one_sentence(mapping, told):
    with pytest.raises(InvalidRequest, match=told):
        changed().targets(["text", "seed"], [mapping])


def test_it_must_be_clear_which_node_speaks():
    talker = {"class_type": "MizuotoTalker", "inputs": {"text": "", "seed": 0}}
    with pytest.raises(InvalidRequest, match=r"not clear: 2 \(MizuotoSpeak\), 4 \(MizuotoTalker\); say where"):
        changed(**{"4": talker}).targets(["text"])
    with pytest.raises(InvalidRequest, match="all called"):
        changed(**{"4": WORKFLOW["2"]}).targets(["text"], ["text=MizuotoSpeak.text"])
    with pytest.raises(InvalidRequest, match="goes to the nodes 2, 4: say which one takes the seeds"):
        changed(**{"4": talker}).targets(["text", "seed"], ["text=2.text", "text=4.text"])
    linked = {"class_type": "MizuotoSpeak", "inputs": {"text": ["1", 0]}}
    with pytest.raises(InvalidRequest, match="no Speak or Talker node has a text of its own"):
        changed(**{"2": linked}).targets(["text"])


OPTIONS = {"class_type": "Options", "inputs": {"whole": 1, "part": 0.5, "flag": False, "word": "a", "noise_seed": 0}}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("whole", "3", 3),
        ("whole", "1.5", 1.5),  # 1.0 is written as 1 by the page
        ("whole", 2.0, 2),
        ("part", " 2 ", 2),
        ("part", "1e3", 1000),
        ("noise_seed", str(2**64 - 1), 2**64 - 1),
        ("flag", "TRUE", True),
        ("flag", 0, False),
        ("flag", True, True),
        ("word", "7", "7"),
        ("word", 7, "7"),
    ],
)
def test_values_take_the_kind_of_what_the_workflow_has(name, value, expected):
    request = made(changed(**{"4": OPTIONS}), line(value=value), f"value=4.{name}")
    found = request.prompt["4"]["inputs"][name]
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("whole", "many", '"value" is "many" and must be a number'),
        ("whole", True, "must be a number"),
        ("part", "inf", "must be a number"),
        ("part", "9" * 5000, "must be a number"),
        ("part", [1], "must be a number"),
        ("noise_seed", "1.5", "must be a whole number from 0"),
        ("noise_seed", -1, "must be a whole number from 0"),
        ("flag", "maybe", "must be true or false"),
        ("word", ["1", 0], "must be a string"),
        ("word", {"a": 1}, "must be a string"),
    ],
)
def test_values_that_do_not_fit_are_named_with_their_line(name, value, told):
    with pytest.raises(InvalidRequest, match=f"line 7: .*{told}"):
        made(changed(**{"4": OPTIONS}), line(value=value), f"value=4.{name}")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is no JSON"),
        ('{"1": NaN}', "is no JSON"),
        ("[]", "no workflow in API form"),
        ("{}", "no workflow in API form"),
        ('{"1": {"class_type": "A"}}', "no workflow in API form"),
        ('{"nodes": [], "links": []}', r'save it with "Export \(API\)"'),
    ],
)
def test_other_files_are_refused(tmp_path, content, told):
    path = tmp_path / "w.json"
    path.write_text(content, "utf-8")
    with pytest.raises(InvalidRequest, match=told):
        Workflow.load(path)


def test_a_file_of_a_page_in_utf_8_with_a_mark_is_read(tmp_path):
    path = tmp_path / "w.json"
    path.write_text(json.dumps(WORKFLOW), "utf-8-sig")
    assert Workflow.load(path).nodes == WORKFLOW
