use super::is_software_text;

#[test]
fn software_is_named_in_letters_digits_dots_and_hyphens() {
    for legal in ["a", "apache-kafka-java", "4.1.0", "1.0-rc.1", "X9"] {
        assert!(is_software_text(legal), "{legal}");
    }
    for illegal in ["", "-a", "a-", ".1", "1.", "a b", "a_b", "é", "a\n"] {
        assert!(!is_software_text(illegal), "{illegal:?}");
    }
}
