use super::paths;

#[test]
fn a_make_rule_names_its_files() {
    let read: Vec<_> = paths("/a/one.rs /b\\ c/two.rs /back\\\\slash.rs\n").into_iter().collect();
    assert_eq!(read, ["/a/one.rs", "/b c/two.rs", "/back\\slash.rs"].map(std::path::PathBuf::from));
}
