"""confluent-kafka, the Python face of librdkafka."""

import time

import confluent_kafka as ck
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition, admin

import client
import scenario
import scenarios  # noqa: F401 — registers them
from client import Record, ServerError


class Confluent(client.Client):
    lacks = {"group_sticky": "librdkafka has no eager sticky assignor"}

    def __init__(self, bootstrap, name):
        super().__init__(bootstrap, name)
        self._config = {"bootstrap.servers": bootstrap, "log_level": 2, "error_cb": lambda error: None}
        self.admin = admin.AdminClient(self._config)

    def error_code(self, error):
        return error.args[0].code() if isinstance(error, KafkaException) else None

    def cluster(self):
        described = self.admin.describe_cluster().result()
        return described.cluster_id, [(node.id, node.host, node.port) for node in described.nodes]

    def create(self, *topics, partitions=1, configs=None, replicas=1):
        wanted = [admin.NewTopic(topic, partitions, replicas, config=configs or {}) for topic in topics]
        for future in self.admin.create_topics(wanted).values():
            future.result()

    def delete(self, *topics):
        for future in self.admin.delete_topics(list(topics)).values():
            future.result()

    def delete_records(self, topic, partition, offset):
        asked = TopicPartition(topic, partition, offset)
        return self.admin.delete_records([asked])[asked].result().low_watermark

    def topics(self):
        return set(self.admin.list_topics(timeout=10).topics)

    def partitions(self, topic):
        described = self.admin.describe_topics(ck.TopicCollection([topic]))[topic].result()
        return sorted(partition.id for partition in described.partitions)

    def configs(self, topic):
        resource = admin.ConfigResource(admin.RESOURCE_TOPIC, topic)
        entries = self.admin.describe_configs([resource])[resource].result()
        return {name: (entry.value, entry.is_default) for name, entry in entries.items()}

    def send(self, records, codec="none", acks="all", idempotent=None, linger_ms=20, batch_bytes=None, request_bytes=None):
        config = self._config | {"compression.type": codec, "acks": acks, "linger.ms": linger_ms,
                                 "partitioner": "murmur2_random", "max.in.flight": 5}
        if idempotent is not None:
            config["enable.idempotence"] = idempotent
        if batch_bytes is not None:
            config["batch.size"] = batch_bytes
        if request_bytes is not None:
            config["message.max.bytes"] = request_bytes
        producer = ck.Producer(config)
        results = [None] * len(records)

        def delivered(i):
            def note(error, message):
                results[i] = KafkaException(error) if error else (message.partition(), message.offset())

            return note

        for i, record in enumerate(records):
            options = {"headers": record.headers, "on_delivery": delivered(i)}
            if record.partition is not None:
                options["partition"] = record.partition
            if record.timestamp is not None:
                options["timestamp"] = record.timestamp
            producer.produce(record.topic, record.value, record.key, **options)
            if i % 1000 == 0:
                producer.poll(0)
        producer.flush(scenario.PATIENCE_S)
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results

    def reader(self, group=None, reset="earliest", auto_create=True, auto_commit_ms=None, fetch_bytes=None,
               partition_fetch_bytes=None, wait_ms=50):
        config = self._config | {
            "group.id": group or self.name(),
            "auto.offset.reset": reset,
            "allow.auto.create.topics": auto_create,
            "enable.auto.commit": auto_commit_ms is not None,
            "auto.commit.interval.ms": auto_commit_ms or 5000,
            "fetch.wait.max.ms": wait_ms,
            "socket.timeout.ms": 60_000,
        }
        if fetch_bytes is not None:
            # librdkafka insists on this order of its limits.
            config |= {"fetch.max.bytes": fetch_bytes, "message.max.bytes": fetch_bytes}
        if partition_fetch_bytes is not None:
            config["max.partition.fetch.bytes"] = partition_fetch_bytes
        return self.keep(Reader(ck.Consumer(config)))

    def member(self, topic, group, seen, assignor="range", instance=None, protocol="classic"):
        config = self._config | {
            "group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "fetch.wait.max.ms": 50,
        }
        if protocol == "consumer":
            # Times are the server's to say.
            config["group.remote.assignor"] = assignor
        else:
            config |= {"partition.assignment.strategy": assignor, "heartbeat.interval.ms": 100, "session.timeout.ms": 10_000}
        if instance:
            config["group.instance.id"] = instance
        return Member(ck.Consumer(config), topic, seen)

    def groups(self):
        return {group.group_id for group in self.admin.list_consumer_groups().result().valid}

    def describe_group(self, group):
        described = self.admin.describe_consumer_groups([group])[group].result()
        state = described.state.name.capitalize()
        return state, sorted(len(member.assignment.topic_partitions) for member in described.members)

    def committed(self, group, topic):
        request = ConsumerGroupTopicPartitions(group)
        answer = self.admin.list_consumer_group_offsets([request])[group].result()
        return {p.partition: p.offset for p in answer.topic_partitions if p.topic == topic and p.offset >= 0}

    def reset_group(self, group, topic, partition, offset):
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition, offset)])
        for answer in self.admin.alter_consumer_group_offsets([request])[group].result().topic_partitions:
            ServerError.check(answer.error.code() if answer.error else 0)

    def delete_group(self, group):
        self.admin.delete_consumer_groups([group])[group].result()


class Reader(client.Reader):
    def __init__(self, consumer):
        self.consumer = consumer
        self.assigned = set()

    def assign(self, places, at=None):
        default = ck.OFFSET_BEGINNING if at is None else ck.OFFSET_STORED
        self.consumer.assign([TopicPartition(*place, (at or {}).get(place, default)) for place in places])

    def subscribe(self, topic):
        self.consumer.subscribe([topic])

    def seek(self, place, offset):
        self.consumer.seek(TopicPartition(*place, offset))

    def fetch(self, seconds, limit):
        records = []
        for message in self.consumer.consume(limit, seconds):
            if message.error():
                # A topic that isn't there is told as an event; it brings no records.
                if message.error().code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
                    continue
                raise KafkaException(message.error())
            kind, timestamp = message.timestamp()
            records.append(Record(message.topic(), message.value(), message.key(), message.partition(), timestamp,
                                  message.headers() or [], message.offset(), kind == ck.TIMESTAMP_LOG_APPEND_TIME))
        return records

    def ends(self, places):
        return {place: self.consumer.get_watermark_offsets(TopicPartition(*place), timeout=10) for place in places}

    def at_time(self, times):
        asked = [TopicPartition(*place, at) for place, at in times.items()]
        answers = self.consumer.offsets_for_times(asked, timeout=10)
        return {(p.topic, p.partition): p.offset if p.offset >= 0 else None for p in answers}

    def commit(self, offsets):
        self.consumer.commit(offsets=[TopicPartition(*place, offset, metadata)
                                      for place, (offset, metadata) in offsets.items()], asynchronous=False)

    def committed(self, place):
        answer = self.consumer.committed([TopicPartition(*place)], timeout=10)[0]
        return None if answer.offset < 0 else (answer.offset, answer.metadata or "")

    def pause(self, *places):
        self.consumer.pause([TopicPartition(*place) for place in places])

    def resume(self, *places):
        self.consumer.resume([TopicPartition(*place) for place in places])

    def close(self):
        self.consumer.close()


class Member(client.Member):
    def __init__(self, consumer, topic, seen):
        super().__init__(seen)
        self.consumer = consumer
        # The next offset to read by partition, committed when the partition goes or the member does.
        self.next = {}
        self.topic = topic
        consumer.subscribe([topic], on_assign=self.on_assign, on_revoke=self.on_revoke, on_lost=self.on_lost)

    def on_assign(self, consumer, partitions):
        self.owned |= {p.partition for p in partitions}

    def on_revoke(self, consumer, partitions):
        self.commit([p.partition for p in partitions])
        self.owned -= {p.partition for p in partitions}

    def on_lost(self, consumer, partitions):
        self.owned -= {p.partition for p in partitions}

    def commit(self, partitions):
        offsets = [TopicPartition(self.topic, p, self.next.pop(p)) for p in partitions if p in self.next]
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def run(self):
        try:
            while not self.stop.is_set():
                # One at a time: a call that gathers several may be told to give up a partition in between, and hand
                # over records of it that on_revoke knew nothing of.
                message = self.consumer.poll(0.05)
                if message is None:
                    continue
                if message.error():
                    raise KafkaException(message.error())
                self.note(message.partition(), message.offset())
                self.next[message.partition()] = message.offset() + 1
            self.commit(list(self.next))
        finally:
            self.consumer.close()


if __name__ == "__main__":
    scenario.main(Confluent)
