package daybook.clients;

import static daybook.clients.Session.bytes;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.DeleteGroupsRequestData;
import org.apache.kafka.common.message.DeleteTopicsRequestData;
import org.apache.kafka.common.message.DescribeClusterRequestData;
import org.apache.kafka.common.message.DescribeConfigsRequestData;
import org.apache.kafka.common.message.DescribeGroupsRequestData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.DescribeGroupsResponse;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.JoinGroupResponse;
import org.apache.kafka.common.requests.ListGroupsResponse;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.OffsetFetchResponse;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.Utils;

/**
 * Every version of every request that the server says it knows, as it should be and with something wrong in it: clients
 * speak versions of all ages, and an answer that one of them cannot decode ends its connection.
 */
final class VersionScenarios {
    static void add(Map<String, Main.Scenario> scenarios) {
        scenarios.put("every_version", VersionScenarios::everyVersion);
        scenarios.put("unsupported_version", VersionScenarios::unsupportedVersion);
    }

    private static final Set<Errors> LATER = Set.of(
            Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR);

    /** Makes and judges a request of one version; wrong requests get an unknown topic, group or member. */
    interface Attempt {
        void run(Calls calls, short version, boolean wrong) throws Exception;
    }

    private static void everyVersion(Session session) throws Exception {
        var attempts = new LinkedHashMap<ApiKeys, Attempt>();
        attempts.put(ApiKeys.API_VERSIONS, VersionScenarios::apiVersions);
        attempts.put(ApiKeys.METADATA, VersionScenarios::metadata);
        attempts.put(ApiKeys.DESCRIBE_CLUSTER, VersionScenarios::describeCluster);
        attempts.put(ApiKeys.CREATE_TOPICS, VersionScenarios::createTopics);
        attempts.put(ApiKeys.DELETE_TOPICS, VersionScenarios::deleteTopics);
        attempts.put(ApiKeys.DESCRIBE_CONFIGS, VersionScenarios::describeConfigs);
        attempts.put(ApiKeys.INIT_PRODUCER_ID, VersionScenarios::initProducerId);
        attempts.put(ApiKeys.PRODUCE, VersionScenarios::produce);
        attempts.put(ApiKeys.FETCH, VersionScenarios::fetch);
        attempts.put(ApiKeys.LIST_OFFSETS, VersionScenarios::listOffsets);
        attempts.put(ApiKeys.FIND_COORDINATOR, VersionScenarios::findCoordinator);
        attempts.put(ApiKeys.JOIN_GROUP, VersionScenarios::joinGroup);
        attempts.put(ApiKeys.SYNC_GROUP, VersionScenarios::syncGroup);
        attempts.put(ApiKeys.HEARTBEAT, VersionScenarios::heartbeat);
        attempts.put(ApiKeys.LEAVE_GROUP, VersionScenarios::leaveGroup);
        attempts.put(ApiKeys.OFFSET_COMMIT, VersionScenarios::offsetCommit);
        attempts.put(ApiKeys.OFFSET_FETCH, VersionScenarios::offsetFetch);
        attempts.put(ApiKeys.LIST_GROUPS, VersionScenarios::listGroups);
        attempts.put(ApiKeys.DESCRIBE_GROUPS, VersionScenarios::describeGroups);
        attempts.put(ApiKeys.DELETE_GROUPS, VersionScenarios::deleteGroups);

        Map<ApiKeys, short[]> versions;
        try (var wire = new Wire(session.bootstrap)) {
            versions = wire.versions();
        }
        var failures = new ArrayList<String>();
        for (var attempt : attempts.entrySet()) {
            short[] range = versions.get(attempt.getKey());
            Check.that(range != null, attempt.getKey() + " is advertised");
            // The rows of Produce below 3 are advertised for the sake of librdkafka; nobody answers them.
            for (short version = range[0]; version <= range[1]; version++) {
                for (boolean wrong : new boolean[] {false, true}) {
                    // A connection each: one that the server closes must not take the rest with it.
                    try (var wire = new Wire(session.bootstrap)) {
                        attempt.getValue().run(new Calls(session, wire), version, wrong);
                    } catch (Exception | AssertionError failure) {
                        failures.add(attempt.getKey() + " version " + version + (wrong ? " with an error in it: " : ": ") + failure);
                    }
                }
            }
        }
        Check.that(failures.isEmpty(), String.join("\n", failures));
    }

    /** A version that nobody knows is answered in the oldest form, and the connection lives on. */
    private static void unsupportedVersion(Session session) throws Exception {
        try (var wire = new Wire(session.bootstrap)) {
            var request = new ApiVersionsRequestData().setClientSoftwareName("wire").setClientSoftwareVersion("1");
            var header = new RequestHeaderData()
                    .setRequestApiKey(ApiKeys.API_VERSIONS.id).setRequestApiVersion((short) 127)
                    .setClientId("wire").setCorrelationId(4711);
            ByteBuffer answer = wire.exchange(new RequestHeader(header, (short) 2), (short) 3, request);
            Check.equal(4711, answer.getInt(), "correlation id");
            var data = new ApiVersionsResponseData(new ByteBufferAccessor(answer), (short) 0);
            Check.equal(Errors.UNSUPPORTED_VERSION.code(), data.errorCode(), "error code");
            Check.that(data.apiKeys().find(ApiKeys.API_VERSIONS.id) != null, "the version to use instead is named");
            Check.equal(0, answer.remaining(), "bytes after the answer");
            Check.that(wire.versions().containsKey(ApiKeys.PRODUCE), "the same connection answers a version it knows");
        }
    }

    /** A connection, and the topics and groups that the attempts need. */
    static final class Calls {
        final Session session;
        final Wire wire;

        Calls(Session session, Wire wire) {
            this.session = session;
            this.wire = wire;
        }

        /** Exactly these errors must be in the answer, NONE standing for none. */
        AbstractResponse expect(ApiKeys api, int version, ApiMessage request, Errors... wanted) throws Exception {
            var answers = new AbstractResponse[1];
            // A coordinator that was started a moment ago may ask for patience.
            Check.eventually("the coordinator is there", () -> {
                answers[0] = wire.call(api, (short) version, request);
                return Collections.disjoint(answers[0].errorCounts().keySet(), LATER);
            });
            AbstractResponse response = answers[0];
            Set<Errors> got = new HashSet<>(response.errorCounts().keySet());
            if (got.size() > 1) {
                got.remove(Errors.NONE);
            }
            Check.that(got.equals(Set.of(Errors.NONE)) && wanted.length == 0 || got.stream().anyMatch(Set.of(wanted)::contains),
                    "want " + List.of(wanted) + ", got " + got);
            return response;
        }

        Uuid id(String topic) throws Exception {
            return session.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
        }

        /** Member id and generation of the only member of a group, joined and synced with today's versions. */
        Member join(String group) throws Exception {
            var join = joinRequest(9, group, "");
            var first = (JoinGroupResponse) expect(ApiKeys.JOIN_GROUP, 9, join, Errors.MEMBER_ID_REQUIRED);
            join.setMemberId(first.data().memberId());
            var second = (JoinGroupResponse) expect(ApiKeys.JOIN_GROUP, 9, join);
            var member = new Member(second.data().memberId(), second.data().generationId());
            expect(ApiKeys.SYNC_GROUP, 5, syncRequest(5, group, member));
            return member;
        }
    }

    record Member(String id, int generation) {}

    private static void apiVersions(Calls calls, short version, boolean wrong) throws Exception {
        var request = new ApiVersionsRequestData();
        if (version >= 3) {
            request.setClientSoftwareName(wrong ? "no such name!" : "wire").setClientSoftwareVersion("1");
        }
        if (!wrong) {
            calls.expect(ApiKeys.API_VERSIONS, version, request);
        } else if (version >= 3) {
            calls.expect(ApiKeys.API_VERSIONS, version, request, Errors.INVALID_REQUEST);
        }
    }

    private static void metadata(Calls calls, short version, boolean wrong) throws Exception {
        var topic = new MetadataRequestData.MetadataRequestTopic();
        if (wrong) {
            topic.setName(version < 4 ? "no topic!" : calls.session.name());
        } else {
            topic.setName(calls.session.topic(2));
        }
        var request = new MetadataRequestData().setTopics(List.of(topic));
        if (version >= 4) {
            request.setAllowAutoTopicCreation(false);
        }
        Errors[] wanted = !wrong ? new Errors[0]
                : new Errors[] {version < 4 ? Errors.INVALID_TOPIC_EXCEPTION : Errors.UNKNOWN_TOPIC_OR_PARTITION};
        calls.expect(ApiKeys.METADATA, version, request, wanted);
        if (version >= 12) {
            topic.setTopicId(wrong ? Uuid.randomUuid() : calls.id(topic.name())).setName(null);
            calls.expect(ApiKeys.METADATA, version, request, wrong ? new Errors[] {Errors.UNKNOWN_TOPIC_ID} : new Errors[0]);
        }
        if (!wrong) {
            request.setTopics(version == 0 ? List.of() : null);
            calls.expect(ApiKeys.METADATA, version, request);
        }
    }

    private static void describeCluster(Calls calls, short version, boolean wrong) throws Exception {
        calls.expect(ApiKeys.DESCRIBE_CLUSTER, version, new DescribeClusterRequestData());
    }

    private static void createTopics(Calls calls, short version, boolean wrong) throws Exception {
        String name = wrong ? calls.session.topic(1) : calls.session.name();
        var request = new CreateTopicsRequestData().setTimeoutMs(10_000);
        request.topics().add(new CreatableTopic().setName(name).setNumPartitions(2).setReplicationFactor((short) 1));
        calls.expect(ApiKeys.CREATE_TOPICS, version, request, wrong ? new Errors[] {Errors.TOPIC_ALREADY_EXISTS} : new Errors[0]);
    }

    private static void deleteTopics(Calls calls, short version, boolean wrong) throws Exception {
        String name = wrong ? calls.session.name() : calls.session.topic(1);
        var request = new DeleteTopicsRequestData().setTimeoutMs(10_000);
        if (version < 6) {
            request.setTopicNames(List.of(name));
        } else {
            request.setTopics(List.of(new DeleteTopicsRequestData.DeleteTopicState().setName(name)));
        }
        calls.expect(ApiKeys.DELETE_TOPICS, version, request,
                wrong ? new Errors[] {Errors.UNKNOWN_TOPIC_OR_PARTITION} : new Errors[0]);
    }

    private static void describeConfigs(Calls calls, short version, boolean wrong) throws Exception {
        String name = wrong ? calls.session.name() : calls.session.topic(1, "retention.ms", "1000");
        var request = new DescribeConfigsRequestData().setIncludeSynonyms(true);
        if (version >= 3) {
            request.setIncludeDocumentation(true);
        }
        request.resources().add(new DescribeConfigsRequestData.DescribeConfigsResource()
                .setResourceType((byte) 2).setResourceName(name).setConfigurationKeys(null));
        calls.expect(ApiKeys.DESCRIBE_CONFIGS, version, request,
                wrong ? new Errors[] {Errors.UNKNOWN_TOPIC_OR_PARTITION} : new Errors[0]);
    }

    private static void initProducerId(Calls calls, short version, boolean wrong) throws Exception {
        calls.expect(ApiKeys.INIT_PRODUCER_ID, version,
                new InitProducerIdRequestData().setTransactionalId(null).setTransactionTimeoutMs(60_000));
    }

    private static void produce(Calls calls, short version, boolean wrong) throws Exception {
        if (version < 3) {
            return;
        }
        String name = wrong ? calls.session.name() : calls.session.topic(1);
        var topic = new ProduceRequestData.TopicProduceData();
        if (version >= 13) {
            topic.setTopicId(wrong ? Uuid.randomUuid() : calls.id(name));
        } else {
            topic.setName(name);
        }
        var records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(bytes("key"), bytes("value")));
        topic.setPartitionData(List.of(new ProduceRequestData.PartitionProduceData().setIndex(0).setRecords(records)));
        var request = new ProduceRequestData().setAcks((short) -1).setTimeoutMs(10_000);
        request.topicData().add(topic);
        var response = (ProduceResponse) calls.expect(ApiKeys.PRODUCE, version, request, wrong
                ? new Errors[] {version >= 13 ? Errors.UNKNOWN_TOPIC_ID : Errors.UNKNOWN_TOPIC_OR_PARTITION} : new Errors[0]);
        if (!wrong) {
            long offset = response.data().responses().iterator().next().partitionResponses().get(0).baseOffset();
            Check.equal(0L, offset, "offset");
            Check.equal(List.of("value"), Session.values(calls.session.readAll(name)), "what was written");
        }
    }

    private static void fetch(Calls calls, short version, boolean wrong) throws Exception {
        String name = wrong ? calls.session.name() : calls.session.topic(1);
        var topic = new FetchRequestData.FetchTopic();
        if (version >= 13) {
            topic.setTopicId(wrong ? Uuid.randomUuid() : calls.id(name));
        } else {
            topic.setTopic(name);
        }
        topic.setPartitions(List.of(new FetchRequestData.FetchPartition()
                .setPartition(0).setFetchOffset(1).setPartitionMaxBytes(1_000_000)));
        var request = new FetchRequestData().setMaxWaitMs(50).setMinBytes(1).setMaxBytes(1_000_000).setTopics(List.of(topic));
        if (version < 15) {
            request.setReplicaId(-1);
        }
        if (!wrong) {
            calls.session.fill(name, 0, 3);
        }
        var response = (FetchResponse) calls.expect(ApiKeys.FETCH, version, request, wrong
                ? new Errors[] {version >= 13 ? Errors.UNKNOWN_TOPIC_ID : Errors.UNKNOWN_TOPIC_OR_PARTITION} : new Errors[0]);
        if (!wrong) {
            var partition = response.data().responses().get(0).partitions().get(0);
            Check.equal(3L, partition.highWatermark(), "high watermark");
            var values = new ArrayList<String>();
            FetchResponse.recordsOrFail(partition).records().forEach(record -> {
                if (record.offset() >= 1) {
                    values.add(Utils.utf8(record.value()));
                }
            });
            Check.equal(List.of("1", "2"), values, "records");
            topic.partitions().get(0).setFetchOffset(99);
            calls.expect(ApiKeys.FETCH, version, request, Errors.OFFSET_OUT_OF_RANGE);
        }
    }

    private static void listOffsets(Calls calls, short version, boolean wrong) throws Exception {
        String name = wrong ? calls.session.name() : calls.session.topic(1);
        if (!wrong) {
            calls.session.fill(name, 0, 3);
        }
        for (long timestamp : version >= 7 ? new long[] {-1, -2, -3, 5} : new long[] {-1, -2, 5}) {
            var request = new ListOffsetsRequestData().setReplicaId(-1).setTopics(List.of(
                    new ListOffsetsRequestData.ListOffsetsTopic().setName(name).setPartitions(List.of(
                            new ListOffsetsRequestData.ListOffsetsPartition().setPartitionIndex(0).setTimestamp(timestamp)))));
            var response = (ListOffsetsResponse) calls.expect(ApiKeys.LIST_OFFSETS, version, request,
                    wrong ? new Errors[] {Errors.UNKNOWN_TOPIC_OR_PARTITION} : new Errors[0]);
            long offset = response.data().topics().get(0).partitions().get(0).offset();
            // All three may carry the same time, and then the first of them has the largest.
            Check.that(wrong ? offset == -1 : timestamp == -1 ? offset == 3 : timestamp == -3 ? offset < 3 : offset == 0,
                    "offset " + offset + " at " + timestamp);
        }
    }

    private static void findCoordinator(Calls calls, short version, boolean wrong) throws Exception {
        var request = new FindCoordinatorRequestData();
        if (version < 4) {
            request.setKey(calls.session.name());
        } else {
            request.setCoordinatorKeys(List.of(calls.session.name(), calls.session.name()));
        }
        if (version >= 1) {
            request.setKeyType((byte) (wrong ? 77 : 0));
        }
        if (!wrong) {
            calls.expect(ApiKeys.FIND_COORDINATOR, version, request);
        } else if (version >= 1) {
            calls.expect(ApiKeys.FIND_COORDINATOR, version, request, Errors.INVALID_REQUEST);
        }
    }

    private static JoinGroupRequestData joinRequest(int version, String group, String member) {
        var request = new JoinGroupRequestData().setGroupId(group).setMemberId(member).setSessionTimeoutMs(10_000)
                .setProtocolType("consumer");
        if (version >= 1) {
            request.setRebalanceTimeoutMs(10_000);
        }
        request.protocols().add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("range").setMetadata(new byte[4]));
        return request;
    }

    private static void joinGroup(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        if (wrong) {
            calls.expect(ApiKeys.JOIN_GROUP, version, joinRequest(version, group, "nobody"), Errors.UNKNOWN_MEMBER_ID);
            return;
        }
        var request = joinRequest(version, group, "");
        if (version >= 4) {
            var first = (JoinGroupResponse) calls.expect(ApiKeys.JOIN_GROUP, version, request, Errors.MEMBER_ID_REQUIRED);
            request.setMemberId(first.data().memberId());
        }
        var response = (JoinGroupResponse) calls.expect(ApiKeys.JOIN_GROUP, version, request);
        Check.equal(response.data().memberId(), response.data().leader(), "leader");
        Check.equal("range", response.data().protocolName(), "protocol");
        Check.equal(1, response.data().members().size(), "members");
    }

    private static SyncGroupRequestData syncRequest(int version, String group, Member member) {
        var request = new SyncGroupRequestData().setGroupId(group).setGenerationId(member.generation).setMemberId(member.id)
                .setAssignments(List.of(new SyncGroupRequestData.SyncGroupRequestAssignment()
                        .setMemberId(member.id).setAssignment(new byte[] {1, 2, 3})));
        if (version >= 5) {
            request.setProtocolType("consumer").setProtocolName("range");
        }
        return request;
    }

    private static void syncGroup(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        Member member = calls.join(group);
        if (wrong) {
            var unknown = new Member("nobody", member.generation);
            calls.expect(ApiKeys.SYNC_GROUP, version, syncRequest(version, group, unknown), Errors.UNKNOWN_MEMBER_ID);
            var stale = new Member(member.id, member.generation + 1);
            calls.expect(ApiKeys.SYNC_GROUP, version, syncRequest(version, group, stale), Errors.ILLEGAL_GENERATION);
        } else {
            calls.expect(ApiKeys.SYNC_GROUP, version, syncRequest(version, group, member));
        }
    }

    private static void heartbeat(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        Member member = calls.join(group);
        var request = new HeartbeatRequestData().setGroupId(group).setGenerationId(member.generation)
                .setMemberId(wrong ? "nobody" : member.id);
        calls.expect(ApiKeys.HEARTBEAT, version, request, wrong ? new Errors[] {Errors.UNKNOWN_MEMBER_ID} : new Errors[0]);
    }

    private static void leaveGroup(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        String id = wrong ? "nobody" : calls.join(group).id;
        var request = new LeaveGroupRequestData().setGroupId(group);
        if (version < 3) {
            request.setMemberId(id);
        } else {
            request.setMembers(List.of(new MemberIdentity().setMemberId(id)));
        }
        calls.expect(ApiKeys.LEAVE_GROUP, version, request, wrong ? new Errors[] {Errors.UNKNOWN_MEMBER_ID} : new Errors[0]);
    }

    private static void offsetCommit(Calls calls, short version, boolean wrong) throws Exception {
        String topic = calls.session.topic(1);
        String group = calls.session.name();
        Member member = calls.join(group);
        var into = new OffsetCommitRequestData.OffsetCommitRequestTopic().setPartitions(List.of(
                new OffsetCommitRequestData.OffsetCommitRequestPartition()
                        .setPartitionIndex(0).setCommittedOffset(7).setCommittedMetadata("seven")));
        if (version >= 10) {
            into.setTopicId(calls.id(topic));
        } else {
            into.setName(topic);
        }
        var request = new OffsetCommitRequestData().setGroupId(group).setTopics(List.of(into))
                .setMemberId(wrong ? "nobody" : member.id).setGenerationIdOrMemberEpoch(member.generation);
        calls.expect(ApiKeys.OFFSET_COMMIT, version, request, wrong ? new Errors[] {Errors.UNKNOWN_MEMBER_ID} : new Errors[0]);
        if (!wrong) {
            Check.equal(List.of(7L), List.copyOf(GroupScenarios.committed(calls.session, group).values()), "committed");
        }
    }

    private static void offsetFetch(Calls calls, short version, boolean wrong) throws Exception {
        String topic = calls.session.topic(1);
        String group = calls.session.name();
        if (!wrong) {
            var consumer = calls.session.consumer("group.id", group);
            var partition = new TopicPartition(topic, 0);
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(7, "seven")));
        }
        var request = new OffsetFetchRequestData();
        if (version < 8) {
            request.setGroupId(group).setTopics(List.of(
                    new OffsetFetchRequestData.OffsetFetchRequestTopic().setName(topic).setPartitionIndexes(List.of(0))));
        } else {
            var of = new OffsetFetchRequestData.OffsetFetchRequestTopics().setPartitionIndexes(List.of(0));
            if (version >= 10) {
                of.setTopicId(calls.id(topic));
            } else {
                of.setName(topic);
            }
            request.setGroups(List.of(new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(group).setTopics(List.of(of))));
        }
        // An unknown group has no positions; that is no error.
        var response = (OffsetFetchResponse) calls.expect(ApiKeys.OFFSET_FETCH, version, request);
        var found = response.group(group).topics().get(0).partitions().get(0);
        Check.equal(wrong ? -1L : 7L, found.committedOffset(), "offset");
        Check.equal(wrong ? "" : "seven", found.metadata(), "metadata");
    }

    private static void listGroups(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        calls.join(group);
        var response = (ListGroupsResponse)
                calls.expect(ApiKeys.LIST_GROUPS, version, new ListGroupsRequestData());
        Check.that(response.data().groups().stream().anyMatch(listed -> listed.groupId().equals(group)), "the group is listed");
    }

    private static void describeGroups(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        if (!wrong) {
            calls.join(group);
        }
        var response = (DescribeGroupsResponse) calls.expect(ApiKeys.DESCRIBE_GROUPS, version,
                new DescribeGroupsRequestData().setGroups(List.of(group)),
                wrong && version >= 6 ? new Errors[] {Errors.GROUP_ID_NOT_FOUND} : new Errors[0]);
        Check.equal(wrong ? "Dead" : "Stable", response.data().groups().get(0).groupState(), "state");
    }

    private static void deleteGroups(Calls calls, short version, boolean wrong) throws Exception {
        String group = calls.session.name();
        if (!wrong) {
            Member member = calls.join(group);
            var leave = new LeaveGroupRequestData().setGroupId(group)
                    .setMembers(List.of(new MemberIdentity().setMemberId(member.id)));
            calls.expect(ApiKeys.LEAVE_GROUP, 5, leave);
        }
        calls.expect(ApiKeys.DELETE_GROUPS, version, new DeleteGroupsRequestData().setGroupsNames(List.of(group)),
                wrong ? new Errors[] {Errors.GROUP_ID_NOT_FOUND} : new Errors[0]);
    }

    private VersionScenarios() {}
}
