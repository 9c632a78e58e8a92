"""The HTTP client: who answers, who refuses, who is gone."""

import pytest
from mizuoto.cli.batch.server import PromptRefused, Server, ServerGone
from mizuoto.tests.cli.batch.fake import WORKFLOW
from mizuoto.tests.host.local import free_port

ID = "01234567-89ab-cdef-0123-456789abcdef"
CALLS = {
    "queue": lambda server: server.queued(),
    "history": lambda server: server.history(ID),
    "post": lambda server: server.post(WORKFLOW, ID),
}


def test_a_prompt_from_the_queue_to_its_file(comfy):
    comfy.pace = 0
    server = Server(comfy.url + "/")
    server.post(WORKFLOW, ID)
    assert server.queued() == {ID} and server.history(ID) is None
    comfy.execute()
    entry = server.history(ID)
    (file,) = entry["outputs"]["3"]["audio"]
    assert server.queued() == set() and server.view(file) == comfy.files[file["filename"]]
    with pytest.raises(PromptRefused, match=r'no longer has its file "b\.flac"'):
        server.view({"filename": "b.flac"})


def test_waiting_prompts_are_taken_out(comfy):
    comfy.pace = 0
    server = Server(comfy.url)
    server.post(WORKFLOW, ID)
    server.delete([ID])
    assert server.queued() == set()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>"), (200, b"[1]"), (200, b"\xff"), (200, b"[" * 100_000), (404, b"not found"), (403, b"{}")],
)
def test_somebody_else_is_one_sentence(comfy, call, status, body):
    comfy.answers["/"] = (status, body)
    with pytest.raises(OSError, match=r"^What is at http://127.0.0.1:\d+ is no ComfyUI.*; correct --url\.$"):
        call(Server(comfy.url))


@pytest.mark.parametrize("call", ["queue", "history"])
def test_json_of_another_shape_is_somebody_else(comfy, call):
    comfy.answers["/"] = (200, {"queue_running": [3], "queue_pending": 5, ID: 7})
    with pytest.raises(OSError, match="no ComfyUI"):
        CALLS[call](Server(comfy.url))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_proxy_without_a_server_behind_it_means_gone(comfy, call, status):
    comfy.answers["/"] = (status, b"")
    with pytest.raises(ServerGone, match=str(status)):
        call(Server(comfy.url))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nobody_means_gone(comfy, call):
    with pytest.raises(ServerGone, match="refused"):
        call(Server(f"http://127.0.0.1:{free_port()}"))


@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:port", "http://[", "http://a b"])
def test_an_address_that_is_none(url):
    with pytest.raises((OSError, ServerGone)):
        Server(url).queued()


def test_a_host_that_numbers_prompts_itself_is_too_old(comfy):
    comfy.answers["/prompt"] = (200, {"prompt_id": "other"})
    with pytest.raises(OSError, match=r"older than 0\.3\.75"):
        Server(comfy.url).post(WORKFLOW, ID)


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (400, {"error": {"message": "No prompt", "details": ""}, "node_errors": {}}, "^No prompt$"),
        (400, {"error": {"message": "Bad", "details": "node 3"}, "node_errors": []}, "^Bad: node 3$"),
        (400, {"error": "text"}, "ComfyUI answered 400"),
        (500, b"500 Internal\nServer Error", "^ComfyUI answered 500: 500 Internal Server Error$"),
        (413, b"\xff", "^ComfyUI answered 413"),
    ],
)
def test_the_reason_of_a_refusal_is_told(comfy, status, body, told):
    comfy.answers["/prompt"] = (status, body)
    with pytest.raises(PromptRefused, match=told):
        Server(comfy.url).post(WORKFLOW, ID)
