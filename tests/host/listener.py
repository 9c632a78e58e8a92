"""What a real ComfyUI tells over its websocket."""

import asyncio
import json
import struct
import threading
import time
from contextlib import contextmanager

import aiohttp

CLIENT = "mizuoto-tests"  # the one that `Comfy.queue` names


class Socket:
    """(type, data) of all that a client is told; a line of progress has the type "text" and (node, line)."""

    def __init__(self, comfy):
        self.comfy, self.told = comfy, []
        self.is_open, self._loop, self._closing = threading.Event(), None, None

    def listen(self):
        asyncio.run(self._listen())

    async def _listen(self):
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        url = f"{self.comfy.url}/ws?clientId={CLIENT}"
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
            closing = asyncio.create_task(self._close(socket))
            async for message in socket:
                self._add(message)
            await closing

    async def _close(self, socket):
        await self._closing.wait()
        await socket.close()

    def _add(self, message):
        if message.type is aiohttp.WSMsgType.BINARY:
            kind, size = struct.unpack(">II", message.data[:8])
            if kind == 3:
                self.told.append(("text", (message.data[8 : 8 + size].decode(), message.data[8 + size :].decode())))
        else:
            told = json.loads(message.data)
            self.told.append((told["type"], told["data"]))
        self.is_open.set()  # the host greets with its status

    def close(self):
        self._loop.call_soon_threadsafe(self._closing.set)

    def of(self, kind, prompt_id=None):
        return [data for of_kind, data in list(self.told)
                if of_kind == kind and (prompt_id is None or data["prompt_id"] == prompt_id)]  # fmt: skip

    def wait_for(self, kind, prompt_id=None, count=1):
        deadline = time.monotonic() + 60
        while len(found := self.of(kind, prompt_id)) < count:
            assert time.monotonic() < deadline, f"{kind} was not told {count} times"
            time.sleep(0.02)
        return found

    def until(self, kind, is_it):
        """What is told from now on, or was told last, that `is_it`."""
        deadline = time.monotonic() + 60
        seen = max(0, len(self.of(kind)) - 1)
        while True:
            for told in self.of(kind)[seen:]:
                if is_it(told):
                    return told
                seen += 1
            assert time.monotonic() < deadline, self.of(kind)[-3:]
            time.sleep(0.02)

    def run(self, prompt):
        """The run, and the segments told of it."""
        run = self.comfy.run(prompt)
        self.wait_for("execution_success", run.prompt_id)
        return run, self.of("mizuoto.segment", run.prompt_id)


@contextmanager
def connected(comfy):
    socket = Socket(comfy)
    thread = threading.Thread(target=socket.listen)
    thread.start()
    try:
        assert socket.is_open.wait(30)
        yield socket
    finally:
        socket.close()
        thread.join()
