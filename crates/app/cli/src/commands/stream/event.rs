//! An event as the server answers it, and how it is shown.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members that are shown; `--json` shows all, as they came.
#[derive(Debug, Deserialize)]
pub struct Event {
    pub stream: Option<String>,
    pub version: Option<u64>,
    pub position: u64,
    #[serde(rename = "type")]
    pub event_type: String,
    pub content_type: String,
    data: Option<Box<RawValue>>,
    data_base64: Option<String>,
    pub tags: Vec<String>,
    pub time: Option<String>,
    pub recorded: String,
}

impl Event {
    pub fn of(json: &RawValue) -> anyhow::Result<Self> {
        Ok(serde_json::from_str(json.get())?)
    }

    /// When it was true: when it was recorded unless its writer said otherwise.
    pub fn time(&self) -> &str {
        self.time.as_deref().unwrap_or(&self.recorded)
    }

    /// The data in one line: as they are if they are text, else how many there are of what.
    pub fn data_line(&self) -> String {
        if let Some(json) = &self.data {
            return one_line(json.get());
        }
        let Some(bytes) = self.data_base64.as_ref().and_then(|text| BASE64.decode(text).ok()) else {
            return String::new();
        };
        match std::str::from_utf8(&bytes) {
            Ok(text) => one_line(text),
            Err(_) => format!("<{} bytes of {}>", bytes.len(), self.content_type),
        }
    }
}

/// Ends of lines, and blanks before the next line, become one blank; other control characters, which a terminal could obey, are escaped.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in text.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        for character in part.chars() {
            match character.is_control() {
                true => line.extend(character.escape_default()),
                false => line.push(character),
            }
        }
    }
    line
}

pub fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// At most so many characters.
pub fn shortened(text: &str, length_max: usize) -> String {
    match text.char_indices().nth(length_max) {
        Some(_) => text.chars().take(length_max.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}
