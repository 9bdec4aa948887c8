"""What every Python-driven client shares: naming scenarios, comparing, waiting with an end, and reporting.

A scenario is a function that takes a `Client` (client.py); it passes by returning and fails by raising. The report is
one line a scenario, `RESULT name pass|fail|skip seconds [reason]`, preceded for a failure by its story in lines that
open with a bar; `../run` reads it.
"""

import faulthandler
import signal
import sys
import time
import traceback

SCENARIOS = {}

# How long anything may take that has no limit of its own. Generous: the machine may be busy with other work.
PATIENCE_S = 30


def scenario(function):
    """Registers a scenario under its function's name."""
    SCENARIOS[function.__name__] = function
    return function


class Wrong(AssertionError):
    pass


def equal(want, got, what):
    if want != got:
        raise Wrong(f"{what}: want {_shorten(want)}, got {_shorten(got)}")


def that(holds, what):
    if not holds:
        raise Wrong(what)


def eventually(what, holds):
    """For what the server is free to show a moment later, such as a deleted topic's absence from a list."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise Wrong(f"not within {PATIENCE_S} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def fails(client, name, what, action):
    """The action must fail with the error that the protocol calls by this name."""
    try:
        action()
    except Wrong:
        raise
    except Exception as error:
        got = client.error_name(error)
        if got == name:
            return
        raise Wrong(f"{what}: want {name}, got {got}") from error
    raise Wrong(f"{what}: want {name}, but it succeeded")


def noise(size, seed):
    """Bytes that no codec makes smaller, the same for the same seed."""
    import random

    return random.Random(seed).randbytes(size)


def keys():
    """Keys and the one of seven partitions into which every client must put each."""
    import pathlib

    lines = (pathlib.Path(__file__).parent.parent / "keys.tsv").read_text().splitlines()
    return {key.encode(): int(partition) for key, partition in (line.split("\t") for line in lines)}


def main(make_client):
    """`--list`, or a bootstrap address and then the scenarios that are wanted, none meaning all."""
    if sys.argv[1] == "--list":
        print(*SCENARIOS, sep="\n")
        return
    faulthandler.register(signal.SIGQUIT)
    bootstrap, asked = sys.argv[1], sys.argv[2:]
    failed = False
    for name, run in SCENARIOS.items():
        if asked and name not in asked:
            continue
        failed |= not _run_one(make_client, bootstrap, name, run)
    sys.exit(1 if failed else 0)


def _run_one(make_client, bootstrap, name, run):
    start = time.monotonic()
    client = None
    verdict = "pass"
    try:
        client = make_client(bootstrap, name)
        if name in client.lacks:
            print(f"RESULT {name} skip 0 {client.lacks[name]}", flush=True)
            return True
        run(client)
    except Exception:
        verdict = "fail"
        for line in traceback.format_exc().splitlines():
            print("|", line)
    finally:
        if client is not None:
            try:
                client.close()
            except Exception as error:
                print(f"{name}: closing: {error!r}", file=sys.stderr)
    print(f"RESULT {name} {verdict} {time.monotonic() - start:.2f}", flush=True)
    return verdict == "pass"


def _shorten(value):
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:600]}… ({len(text)} characters)"
