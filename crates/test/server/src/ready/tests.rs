use super::Ready;

#[test]
fn fields_are_read() {
    let ready = Ready::read("daybook ready kafka=127.0.0.1:9 http=127.0.0.1:8 sql=127.0.0.1:7 data=./my data").unwrap();
    assert_eq!(ready.kafka, "127.0.0.1:9");
    assert_eq!(ready.http, "127.0.0.1:8");
    assert_eq!(ready.data, "./my data");
}

#[test]
fn anything_else_is_refused() {
    for line in ["", "ready", "daybook ready http=127.0.0.1:8 data=.", "daybook ready kafka=127.0.0.1:9 data=."] {
        assert_eq!(Ready::read(line), None, "{line:?}");
    }
}
