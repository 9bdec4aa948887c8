//! Messages of an event stream, as the WHATWG's specification of server-sent events has them.

/// Adds a message. Its data may have several lines; `name` and `id` have none.
pub fn push(out: &mut Vec<u8>, name: Option<&str>, id: Option<u64>, data: &[u8]) {
    if let Some(name) = name {
        push_field(out, "event", name.as_bytes());
    }
    if let Some(id) = id {
        push_field(out, "id", id.to_string().as_bytes());
    }
    // Data is JSON, in which a line can only end between two tokens: that a reader gets another kind of line end is no matter.
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    for line in data.split(is_end).filter(|line| !line.is_empty()) {
        push_field(out, "data", line);
    }
    out.push(b'\n');
}

/// Adds a line that readers skip.
pub fn push_comment(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(format!(": {text}\n\n").as_bytes());
}

fn push_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}
