"""A ComfyUI of a few lines: the queue, the history and the files of the real one's API, and no nodes.

It executes one prompt each time somebody asks for a history, so that tests choose the pace and never wait.
"""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

WORKFLOW = {
    "1": {"class_type": "MizuotoLoadModel", "inputs": {"model": "built-in"}},
    "2": {
        "class_type": "MizuotoSpeak",
        "inputs": {"model": ["1", 0], "text": "x", "seed": 1},
        "_meta": {"title": "Say"},
    },
    "3": {"class_type": "SaveAudio", "inputs": {"audio": ["2", 0], "filename_prefix": "x"}},
}


class FakeComfy:
    """The state of a server. `pace` is how many prompts a look at the history executes."""

    def __init__(self):
        self.lock = threading.RLock()
        self.pace = 1
        self.answers = {}  # path -> (status, body) that everything below it gets instead
        self.failing = {}  # text -> how its prompt ends: a list of messages
        self.outputs = None  # prompt id -> outputs, instead of one saved file
        self.posted, self.deepest, self.executions = [], 0, []
        self.forget()

    def forget(self):
        """What a restart does."""
        self.queue, self.ended, self.files = {}, {}, {}

    def post(self, body):
        prompt, prompt_id = body["prompt"], body["prompt_id"]
        text = prompt["2"]["inputs"]["text"]
        if text.startswith("invalid"):
            problem = {"message": "Value not in list", "details": text}
            node = {"class_type": "MizuotoSpeak", "errors": [problem]}
            return 400, {"error": {"message": "Prompt outputs failed validation"}, "node_errors": {"2": node}}
        self.posted.append(prompt_id)
        self.queue[prompt_id] = prompt
        self.deepest = max(self.deepest, len(self.queue))
        return 200, {"prompt_id": prompt_id, "number": len(self.posted), "node_errors": {}}

    def execute(self):
        if not self.queue:
            return
        prompt_id = next(iter(self.queue))
        prompt = self.queue.pop(prompt_id)
        text = prompt["2"]["inputs"]["text"]
        self.executions.append(text)
        if text in self.failing:
            status = {"status_str": "error", "completed": False, "messages": self.failing[text]}
            self.ended[prompt_id] = {"outputs": {}, "status": status}
            return
        name = f"x_{len(self.executions):05}_.flac"
        self.files[name] = sound(prompt)
        outputs = {"3": {"audio": [{"filename": name, "subfolder": "", "type": "output"}]}}
        if self.outputs:
            outputs = self.outputs(prompt_id)
        status = {"status_str": "success", "completed": True, "messages": []}
        self.ended[prompt_id] = {"outputs": outputs, "status": status}

    def answer(self, path, query, body):
        for start, answer in self.answers.items():
            if path.startswith(start):
                return answer
        with self.lock:
            if path == "/prompt":
                return self.post(body)
            if path == "/queue" and body is not None:
                for prompt_id in body["delete"]:
                    self.queue.pop(prompt_id, None)
                return 200, b""
            if path == "/queue":
                items = [[0, prompt_id, prompt, {}, ["3"]] for prompt_id, prompt in self.queue.items()]
                return 200, {"queue_running": items[:1], "queue_pending": items[1:]}
            if path.startswith("/history/"):
                prompt_id = path.rpartition("/")[2]
                answer = {prompt_id: self.ended[prompt_id]} if prompt_id in self.ended else {}
                for _ in range(self.pace):
                    self.execute()
                return 200, answer
            if path == "/view" and query["filename"][0] in self.files:
                return 200, self.files[query["filename"][0]]
        return 404, b"not found"


def sound(prompt):
    """Bytes that tell a prompt by."""
    return b"audio " + hashlib.sha256(json.dumps(prompt).encode()).digest()


@contextmanager
def serving(comfy, port=0):
    """The address at which `comfy` answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            length = self.headers.get("Content-Length")
            body = json.loads(self.rfile.read(int(length))) if length else None
            split = urlsplit(self.path)
            status, content = comfy.answer(split.path, parse_qs(split.query), body)
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
