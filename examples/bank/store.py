"""The event store over HTTP: the three calls that a bank needs of it, with nothing but Python."""

import json
import urllib.error
import urllib.parse
import urllib.request

PAGE = 500


class Conflict(Exception):
    """A stream is not at the version at which it was expected: someone else was faster."""

    def __init__(self, problem):
        super().__init__(problem["detail"])
        self.stream, self.expected, self.actual = problem["stream"], problem["expected"], problem["actual"]


class Store:
    def __init__(self, address):
        self._base = f"http://{address}"

    def append(self, stream, expected, *events):
        """Appends if the stream's last version is `expected` ("none": if there is no stream)."""
        return self._call("POST", f"/streams/{urllib.parse.quote(stream, safe='')}", {"expected": expected, "events": events})

    def append_to_all(self, *appends):
        """Appends to several streams, (stream, expected, events) each: all of it or nothing."""
        streams = [{"stream": stream, "expected": expected, "events": events} for stream, expected, events in appends]
        return self._call("POST", "/append", {"streams": streams})

    def read(self, stream):
        """All events of a stream; none if there is no stream."""
        events, start = [], 0
        while True:
            path = f"/streams/{urllib.parse.quote(stream, safe='')}?from={start}&limit={PAGE}"
            page = self._call("GET", path, missing={"events": [], "at_end": True})
            events += page["events"]
            if page["at_end"]:
                return events
            start = page["next"]

    def _call(self, method, path, body=None, missing=None):
        request = urllib.request.Request(self._base + path, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("content-type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            if problem["type"].endswith(":conflict"):
                raise Conflict(problem) from None
            if problem["type"].endswith(":no-stream") and missing is not None:
                return missing
            raise RuntimeError(f"{method} {path}: {problem}") from None
