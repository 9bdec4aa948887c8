"""kcat, the command line client. It has no way to create topics; librdkafka's admin client lends a hand for that."""

import json
import os
import pathlib
import subprocess
import tempfile
import time

from confluent_kafka import admin

import scenario
from scenario import PATIENCE_S, equal, eventually, keys, noise, that

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class Kcat:
    lacks = {}

    def __init__(self, bootstrap, name):
        self.bootstrap = bootstrap
        self._prefix = f"kcat-{name.replace('_', '-')}-{time.time_ns():x}"
        self._names = 0
        self._running = []
        self.files = pathlib.Path(tempfile.mkdtemp(prefix="daybook-kcat-"))

    def name(self):
        self._names += 1
        return f"{self._prefix}-{self._names}"

    def topic(self, partitions=1, **configs):
        name = self.name()
        configs = {key.replace("_", "."): value for key, value in configs.items()}
        client = admin.AdminClient({"bootstrap.servers": self.bootstrap})
        client.create_topics([admin.NewTopic(name, partitions, 1, config=configs)])[name].result()
        eventually(f"{name} can be described", lambda: name in self.metadata())
        return name

    def run(self, *args, stdin=b"", status=0):
        """Standard output of one kcat, which must end with this status."""
        ran = subprocess.run(["kcat", "-b", self.bootstrap, *args], input=stdin, capture_output=True, timeout=PATIENCE_S)
        if status is not None:
            equal(status, ran.returncode, f"exit status of kcat {' '.join(args)}: {ran.stderr.decode()}")
        return ran.stdout if status == 0 else ran.stdout + ran.stderr

    def produce(self, topic, lines, *args, **options):
        text = b"".join(line + b"\n" for line in lines)
        return self.run("-P", "-t", topic, "-X", "linger.ms=20", *args, stdin=text, **options)

    def produce_file(self, topic, payload, *args, **options):
        """The whole payload as one message, whatever bytes it has."""
        path = self.files / "payload"
        path.write_bytes(payload)
        return self.run("-P", "-t", topic, *args, str(path), **options)

    def read(self, topic, *args):
        """Every record from the beginning, as JSON objects, partition by partition."""
        out = self.run("-C", "-t", topic, "-e", "-q", "-J", "-X", "fetch.wait.max.ms=50", *args)
        records = [json.loads(line) for line in out.splitlines()]
        return sorted(records, key=lambda record: (record["partition"], record["offset"]))

    def values(self, topic, *args):
        return [record["payload"] for record in self.read(topic, *args)]

    def metadata(self):
        """Number of partitions by topic."""
        described = json.loads(self.run("-L", "-J"))
        return {topic["topic"]: len(topic["partitions"]) for topic in described["topics"]}

    def start_member(self, group, topic, out):
        """A balanced consumer that appends `partition offset` lines to a file until it is told to stop."""
        member = subprocess.Popen(
            ["kcat", "-b", self.bootstrap, "-G", group, "-q", "-u", "-f", "%p %o\n", "-X", "auto.offset.reset=earliest",
             "-X", "heartbeat.interval.ms=100", "-X", "fetch.wait.max.ms=50", topic],
            stdout=open(out, "wb"), stderr=subprocess.DEVNULL)
        self._running.append(member)
        return member

    def close(self):
        for process in self._running:
            if process.poll() is None:
                process.kill()
                process.wait()
        for path in self.files.iterdir():
            path.unlink()
        self.files.rmdir()


@scenario.scenario
def cluster(kcat):
    described = json.loads(kcat.run("-L", "-J"))
    equal([kcat.bootstrap], [broker["name"] for broker in described["brokers"]], "brokers")
    equal(described["brokers"][0]["id"], described["controllerid"], "controller")


@scenario.scenario
def topics(kcat):
    topic = kcat.topic(5)
    described = json.loads(kcat.run("-L", "-J", "-t", topic))["topics"]
    equal([topic], [each["topic"] for each in described], "topics")
    equal([0, 1, 2, 3, 4], [partition["partition"] for partition in described[0]["partitions"]], "partitions")
    that(all(partition["leader"] >= 0 for partition in described[0]["partitions"]), "each has a leader")


@scenario.scenario
def auto_create(kcat):
    topic = kcat.name()
    kcat.produce(topic, [b"first"])
    equal(["first"], kcat.values(topic), "records")
    equal(1, kcat.metadata()[topic], "partitions by default")


@scenario.scenario
def auto_create_off(kcat):
    topic = kcat.name()
    said = kcat.run("-C", "-t", topic, "-e", "-X", "allow.auto.create.topics=false", status=1)
    that(b"nknown topic" in said, f"what kcat says of an unknown topic: {said}")
    that(topic not in kcat.metadata(), f"the consumer forbade creating {topic}")


@scenario.scenario
def codecs(kcat):
    topic = kcat.topic()
    for codec in CODECS:
        kcat.produce(topic, [b"%s %d " % (codec.encode(), i) + b"x" * (i % 60) for i in range(400)], "-z", codec)
    got = kcat.read(topic)
    equal([f"{codec} {i} " + "x" * (i % 60) for codec in CODECS for i in range(400)], [r["payload"] for r in got], "values")
    equal(list(range(2000)), [record["offset"] for record in got], "offsets")


@scenario.scenario
def null_and_empty(kcat):
    topic = kcat.topic()
    lines = [b"k|v", b"k|", b"|v", b"|"]
    kcat.produce(topic, lines, "-K", "|", "-Z")
    equal([("k", "v"), ("k", None), (None, "v"), (None, None)],
          [(record["key"], record["payload"]) for record in kcat.read(topic)], "keys and values, empty sent as null")
    kcat.produce(topic, lines, "-K", "|")
    equal([("k", "v"), ("k", ""), ("", "v"), ("", "")],
          [(record["key"], record["payload"]) for record in kcat.read(topic)[4:]], "keys and values, empty sent as empty")


@scenario.scenario
def headers(kcat):
    topic = kcat.topic()
    kcat.produce(topic, [b"rich"], "-H", "a=1", "-H", "b=", "-H", "a=2", "-H", "none", "-H", "a=1")
    kcat.produce(topic, [b"plain"])
    rich, plain = kcat.read(topic)
    equal(["a", "1", "b", "", "a", "2", "none", None, "a", "1"], rich["headers"], "headers")
    equal([], plain.get("headers", []), "no headers")


@scenario.scenario
def timestamps(kcat):
    before = int(time.time() * 1000)
    topic = kcat.topic()
    kcat.produce(topic, [b"v"])
    (record,) = kcat.read(topic)
    equal("create", record["tstype"], "timestamp type")
    that(before <= record["ts"] <= int(time.time() * 1000), f"timestamp {record['ts']} is the producer's")


@scenario.scenario
def log_append_time(kcat):
    topic = kcat.topic(message_timestamp_type="LogAppendTime")
    kcat.produce(topic, [b"v", b"w"])
    equal(["logappend"] * 2, [record["tstype"] for record in kcat.read(topic)], "timestamp types")


@scenario.scenario
def size_limit(kcat):
    topic = kcat.topic()
    # The batch may have 1048588 bytes: 61 of head, then 11 around a value of this size.
    largest = 1_048_588 - 61 - 11
    for size in [largest, 1]:
        kcat.produce_file(topic, noise(size, size), "-X", "message.max.bytes=4000000")
    for size in [largest + 1, 3_000_000]:
        said = kcat.produce_file(topic, noise(size, size), "-X", "message.max.bytes=4000000", status=1)
        that(b"Message size too large" in said, f"what kcat says of {size} bytes: {said}")
    equal([str(largest), "1"], kcat.run("-C", "-t", topic, "-e", "-q", "-f", "%S\n").decode().split(), "sizes")
    got = kcat.run("-C", "-t", topic, "-o", "0", "-c", "1", "-q", "-f", "%s")
    that(got == noise(largest, largest), "the bytes of the largest")


@scenario.scenario
def acks(kcat):
    for level in ["0", "1", "all"]:
        topic = kcat.topic()
        # Without an answer nothing says that a partition was not ready yet, so one record goes ahead.
        kcat.produce(topic, [b"0"])
        kcat.produce(topic, [b"%d" % i for i in range(1, 100)], "-X", f"acks={level}")
        # acks=0 answers nothing, so what was sent may arrive after kcat has ended.
        got = kcat.run("-C", "-t", topic, "-c", "100", "-q", "-f", "%o %s\n").decode().splitlines()
        equal([f"{i} {i}" for i in range(100)], got, f"offsets and values, acks={level}")


@scenario.scenario
def pipelined(kcat):
    _stream(kcat, "acks=all", "enable.idempotence=false")


@scenario.scenario
def idempotent(kcat):
    _stream(kcat, "enable.idempotence=true")


def _stream(kcat, *settings):
    topic = kcat.topic()
    lines = [b"%d" % i for i in range(20_000)]
    flags = [flag for setting in settings for flag in ("-X", setting)]
    kcat.produce(topic, lines, "-X", "batch.num.messages=20", "-X", "max.in.flight=5", *flags)
    got = kcat.run("-C", "-t", topic, "-e", "-q", "-f", "%o %s\n").splitlines()
    equal([b"%d %d" % (i, i) for i in range(20_000)], got, "offsets and values")


@scenario.scenario
def key_partition(kcat):
    topic = kcat.topic(7)
    partitions = keys()
    kcat.produce(topic, [key + b"\tv" + key for key in partitions], "-K", "\t", "-X", "topic.partitioner=murmur2_random")
    got = {record["key"].encode(): record["partition"] for record in kcat.read(topic)}
    equal(partitions, got, "partition of each key")


@scenario.scenario
def positions(kcat):
    topic = kcat.topic(2)
    kcat.produce(topic, [b"%d" % i for i in range(100)], "-p", "0")
    one = ["-p", "0"]
    equal(100, len(kcat.values(topic, *one, "-o", "beginning")), "from the beginning")
    equal([], kcat.values(topic, *one, "-o", "end"), "from the end")
    equal(["97", "98", "99"], kcat.values(topic, *one, "-o", "97"), "from an offset")
    equal(["95", "96", "97", "98", "99"], kcat.values(topic, *one, "-o", "-5"), "the last five")
    equal(["10", "11", "12"], kcat.values(topic, *one, "-o", "10", "-c", "3"), "three from the middle of a batch")
    equal([], kcat.values(topic, "-p", "1"), "the empty partition")


@scenario.scenario
def times(kcat):
    topic = kcat.topic()
    kcat.produce(topic, [b"%d" % i for i in range(5)])
    last = kcat.read(topic)[-1]["ts"]
    # A pause that the clock shows, so that two batches have different times.
    eventually("the clock moved", lambda: int(time.time() * 1000) > last + 1)
    kcat.produce(topic, [b"%d" % i for i in range(5, 10)])
    first, later = kcat.read(topic)[0]["ts"], kcat.read(topic)[5]["ts"]

    def asked(at):
        return int(kcat.run("-Q", "-t", f"{topic}:0:{at}").decode().rsplit("offset", 1)[1])

    equal([0, 5, -1], [asked(first), asked(last + 1), asked(later + 60_000)], "offsets by time")
    equal([0, 10], [asked(-2), asked(-1)], "beginning and end")
    equal([str(i) for i in range(5, 10)], kcat.values(topic, "-o", f"s@{last + 1}"), "from a time")
    equal([str(i) for i in range(5)], kcat.values(topic, "-o", f"s@{first}", "-o", f"e@{last + 1}"), "up to a time")


@scenario.scenario
def small_fetch(kcat):
    topic = kcat.topic()
    for i in range(4):
        kcat.produce_file(topic, noise(20_000, i))
    sizes = kcat.run("-C", "-t", topic, "-e", "-q", "-f", "%S\n", "-X", "fetch.message.max.bytes=1000",
                     "-X", "fetch.wait.max.ms=50")
    equal(b"20000\n" * 4, sizes, "sizes")


@scenario.scenario
def group_range(kcat):
    """Balanced consumers come and go; each record is read at least once, and a later one finds nothing left."""
    topic, group = kcat.topic(4), kcat.name()
    lines = [b"%d" % i for i in range(200)]
    outs = [kcat.files / f"member-{i}" for i in range(2)]

    def seen():
        return {line for out in outs if out.exists() for line in out.read_bytes().splitlines()}

    def feed():
        for partition in range(4):
            kcat.produce(topic, lines, "-p", str(partition))

    feed()
    first = kcat.start_member(group, topic, outs[0])
    eventually("the first member reads all", lambda: len(seen()) == 800)
    second = kcat.start_member(group, topic, outs[1])

    def both_read():
        kcat.produce(topic, [b"more"], "-p", "0")
        kcat.produce(topic, [b"more"], "-p", "3")
        return outs[1].exists() and outs[1].read_bytes()

    eventually("the second member gets a share", both_read)
    first.terminate()
    first.wait(PATIENCE_S)
    feed()
    ends = {p: 1 + max(r["offset"] for r in kcat.read(topic, "-p", str(p))) for p in range(4)}
    want = {b"%d %d" % (p, o) for p, end in ends.items() for o in range(end)}
    eventually("the second member reads all the rest", lambda: seen() == want)
    second.terminate()
    equal(0, second.wait(PATIENCE_S), "exit status of the second member")
    left = kcat.run("-G", group, "-q", "-e", "-f", "%p %o\n", "-X", "auto.offset.reset=earliest", topic)
    equal(b"", left, "what is left to read in the group")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    scenario.main(Kcat)
