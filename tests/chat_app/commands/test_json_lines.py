"""The filter on several threads: the lines' order, faults by their numbers, and a bounded window."""

import io
import json
import threading
from typing import Any

from heard.chat_app.commands.json_lines import WINDOW, LineError, answer_lines


def lines(count: int) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps({"id": number}).encode() + b"\n" for number in range(count)))


def fault(error: LineError) -> dict[str, Any]:
    return {"id": error.identity, "fault": str(error)}


def test_the_order_is_that_of_the_lines_whichever_is_ready_first() -> None:
    second = threading.Event()

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] == 0:
            assert second.wait(10), "the second line is answered while the first one waits"
        second.set()
        if row["id"] % 10 == 7:
            raise LineError("no sevens", row["id"])
        return row

    out = io.StringIO()
    assert answer_lines(lines(200), out, answer, fault, workers=4) == list(range(8, 200, 10))
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == list(range(200))


def test_no_more_lines_are_read_ahead_than_the_window_holds() -> None:
    source, begun, go = lines(10 * WINDOW), threading.Event(), threading.Event()

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        assert go.wait(10)
        return row

    done = threading.Thread(target=answer_lines, args=(source, io.StringIO(), answer, fault, 2))
    done.start()
    assert begun.wait(10)
    longest = len(b'{"id": 999}\n')
    assert source.tell() <= (WINDOW + 1) * longest
    go.set()
    done.join(10)
    assert not done.is_alive()
    assert source.read() == b""
