//! Layers and their errors.

use std::ffi::OsString;
use std::path::Path;

use crate::{Address, ByteSize, Layers, SettingValue, Settings, SettingsError, Source, WalSync};

fn with_file(text: &str) -> Layers {
    let mut layers = Layers::default();
    layers.set_file(Path::new("daybook.toml"), text.to_owned());
    layers
}

fn with_environment(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let mut layers = Layers::default();
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    layers.take_environment(variables, &["DAYBOOK_BOOTSTRAP"])?;
    layers.settle()
}

fn message(result: Result<Settings, SettingsError>) -> String {
    result.expect_err("must be refused").to_string()
}

#[test]
fn every_default_is_accepted_by_its_own_key_in_its_normal_form() {
    for key in Settings::keys() {
        assert_eq!((key.normalise)(key.default).as_deref(), Some(key.default), "{}", key.name);
        assert!(!key.meaning.trim().is_empty());
    }
    let settings = Settings::defaults();
    assert_eq!(settings.kafka.listen, Address { host: "127.0.0.1".to_owned(), port: 9092 });
    assert_eq!(settings.kafka.request_bytes_max, ByteSize(100 << 20));
    assert_eq!(settings.wal.sync, WalSync::Always);
    assert_eq!(settings.kafka.advertised, None);
    assert!(settings.entries().iter().all(|entry| entry.source == Source::Default));
}

#[test]
fn names_in_the_environment_are_unique() {
    let mut names: Vec<_> = Settings::keys().iter().map(|key| key.environment_name()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), Settings::keys().len());
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let mut layers =
        with_file("data = \"/from/file\"\n[kafka]\nlisten = \"h:1\"\ndefault_partitions = 3\n[wal]\nsync = \"os\"\n");
    let variables = [("DAYBOOK_KAFKA_LISTEN", "h:2"), ("DAYBOOK_KAFKA_DEFAULT_PARTITIONS", "4"), ("HOME", "/root")];
    layers.take_environment(variables.map(|(k, v)| (k.into(), v.into())), &[]).expect("text");
    layers.set_flag("kafka.listen", "h:3", "--kafka");
    let settings = layers.settle().expect("all accepted");

    let source = |key: &str| settings.entry(key).expect("known").source.to_string();
    assert_eq!(settings.kafka.listen.port, 3);
    assert_eq!(source("kafka.listen"), "--kafka");
    assert_eq!(settings.kafka.default_partitions, 4);
    assert_eq!(source("kafka.default_partitions"), "DAYBOOK_KAFKA_DEFAULT_PARTITIONS");
    assert_eq!(settings.wal.sync, WalSync::Os);
    assert_eq!(source("wal.sync"), "daybook.toml:6");
    assert_eq!(settings.data, Path::new("/from/file"));
    assert_eq!(source("data"), "daybook.toml:1");
    assert_eq!(source("http.listen"), "default");
}

#[test]
fn values_are_shown_in_their_normal_form() {
    let settings = with_file("kafka.request_bytes_max = 1_048_576\nshard.in_flight_bytes_max = \"2048 KiB\"").settle();
    let settings = settings.expect("accepted");
    assert_eq!(settings.entry("kafka.request_bytes_max").expect("known").value, "1MiB");
    assert_eq!(settings.shard.in_flight_bytes_max, ByteSize(2 << 20));
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let text = message(with_file("\n[kafka]\nlisen = \"h:1\"").settle());
    assert!(text.contains("\"kafka.lisen\" (daybook.toml:3)") && text.contains("\"kafka.listen\""), "{text}");
    let text = message(with_file("[wal]\nsegment_byte = 1").settle());
    assert!(text.contains("\"wal.segment_bytes\""), "{text}");
    let text = message(with_file("[wall]\nsync = \"os\"").settle());
    assert!(text.contains("\"wal.sync\""), "{text}");
    let text = message(with_environment(&[("DAYBOOK_KAFKA_LISTN", "h:1")]));
    assert!(text.contains("DAYBOOK_KAFKA_LISTN;") && text.contains("DAYBOOK_KAFKA_LISTEN,"), "{text}");
    let text = message(with_environment(&[("DAYBOOK_BOOTSTRP", "h:1")]));
    assert!(text.contains("DAYBOOK_BOOTSTRAP,"), "{text}");
}

#[test]
fn variables_of_others_are_left_alone() {
    let settings = with_environment(&[("DAYBOOK_BOOTSTRAP", "h:1"), ("PATH", "/bin"), ("DAYBOOKS", "x")]);
    assert!(settings.is_ok());
}

#[test]
fn a_bad_value_names_key_value_source_and_what_is_accepted() {
    let text = message(with_file("[wal]\nsync = \"never\"").settle());
    assert_eq!(text, "wal.sync = \"never\" (daybook.toml:2) is not accepted; it takes \"always\" or \"os\"");
    let text = message(with_environment(&[("DAYBOOK_KAFKA_DEFAULT_PARTITIONS", "0")]));
    assert!(text.contains("DAYBOOK_KAFKA_DEFAULT_PARTITIONS") && text.contains("from 1 to 10000"), "{text}");
    for document in [
        "kafka = 1",
        "data = [1]",
        "data = \"\"",
        "data = 1",
        "log.level = { a = 1 }",
        "kafka.listen = 9092",
        "kafka.listen = \"::1:9092\"",
        "kafka.listen = \"h:65536\"",
        "kafka.request_bytes_max = -1",
        "kafka.request_bytes_max = 1.5",
        "kafka.request_bytes_max = \"99999999999GiB\"",
        "kafka.auto_create_topics = \"yes\"",
        "log.level = \"loud\"",
        "node.id = 4294967296",
    ] {
        let error = with_file(document).settle().expect_err(document);
        assert!(
            matches!(error, SettingsError::BadValue { .. } | SettingsError::UnknownKey { .. }),
            "{document}: {error}"
        );
    }
}

#[test]
fn a_broken_file_names_the_line() {
    let text = message(with_file("data = \"x\"\nwal.sync =\n").settle());
    assert!(text.starts_with("daybook.toml:2: not valid TOML"), "{text}");
    let mut layers = Layers::default();
    let text = layers.read_file(Path::new("/nonexistent/daybook.toml")).expect_err("no such file").to_string();
    assert!(text.contains("/nonexistent/daybook.toml"), "{text}");
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let text = message(with_file("kafka.listen = \"0.0.0.0:9092\"").settle());
    assert!(text.contains("kafka.advertised"), "{text}");
    let both = with_file("kafka.listen = \"[::]:9092\"\nkafka.advertised = \"log.example:9092\"").settle();
    assert_eq!(both.expect("advertised").kafka.advertised.expect("set").host, "log.example");
    let text = message(with_file("group.session_timeout_min_ms = 10\ngroup.session_timeout_max_ms = 9").settle());
    assert!(text.contains("group.session_timeout_max_ms = 9"), "{text}");
}

#[test]
fn printed_values_are_read_back() {
    for text in ["[::1]:9092", "localhost:0", "a.b-c:1"] {
        assert_eq!(Address::read(text).expect(text).print(), text);
    }
    for bytes in [0, 1, 1023, 1024, 1536, 1 << 20, 3 << 30, u64::MAX] {
        assert_eq!(ByteSize::read(&ByteSize(bytes).print()), Some(ByteSize(bytes)));
    }
    assert_eq!(ByteSize(1536).print(), "1536");
    assert_eq!(ByteSize(5 << 20).print(), "5MiB");
}
