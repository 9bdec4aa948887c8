use super::{MESSAGE_BYTES_MAX, Refusal, code_and_text};
use crate::error_code::ErrorCode;

#[test]
fn a_long_text_is_shortened_between_its_characters() {
    let refuse = |message: &str| code_and_text(&Err::<(), _>(Refusal::new(ErrorCode::InvalidConfig, message)));
    let (code, message) = refuse("short");
    assert_eq!((code, message.as_deref()), (40, Some("short")));
    let (_, message) = refuse(&"é".repeat(MESSAGE_BYTES_MAX));
    assert_eq!(message.map(|message| message.chars().count()), Some(MESSAGE_BYTES_MAX / 2 + 1));
    let (_, message) = refuse(&format!("x{}", "é".repeat(MESSAGE_BYTES_MAX)));
    assert_eq!(message.map(|message| message.len()), Some(MESSAGE_BYTES_MAX - 1 + "…".len()));
}
