//! The types a value can have: how each is read from text, printed, and described to people.

use std::fmt;
use std::path::PathBuf;

/// A type of value. Every layer hands its values over as text, so that all of them accept exactly the same.
pub trait SettingValue: Sized {
    /// Whether a file may have it without quotes, as a TOML integer or boolean.
    const IS_BARE: bool = false;

    /// `None` when the text isn't acceptable.
    fn read(text: &str) -> Option<Self>;
    /// The normal form, which `read` reads back.
    fn print(&self) -> String;
    /// What `read` accepts, for messages: "a number from 1 to 10".
    fn accepted() -> String;
    /// The number that a range in the table of keys is compared with.
    fn magnitude(&self) -> Option<u64> {
        None
    }
    /// Prints an end of such a range.
    fn print_magnitude(number: u64) -> String {
        number.to_string()
    }
}

/// `HOST:PORT`; an IPv6 host stands in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

impl Address {
    /// Whether it means every interface, which others can't connect to.
    pub fn is_wildcard(&self) -> bool {
        matches!(self.host.as_str(), "0.0.0.0" | "::")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl SettingValue for Address {
    fn read(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']')?,
            None if host.contains(':') => return None,
            None => host,
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() || !host.chars().all(legal) {
            return None;
        }
        Some(Self { host: host.to_owned(), port: port.parse().ok()? })
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn accepted() -> String {
        "HOST:PORT, as 127.0.0.1:9092 or [::1]:9092".to_owned()
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    fn read(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { T::read(text).map(Some) }
    }

    fn print(&self) -> String {
        self.as_ref().map(T::print).unwrap_or_default()
    }

    fn accepted() -> String {
        format!("nothing, or {}", T::accepted())
    }
}

/// A number of bytes. Printed in the largest unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const BYTE_UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match BYTE_UNITS.iter().find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size)) {
            Some((unit, size)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "{}", self.0),
        }
    }
}

impl SettingValue for ByteSize {
    const IS_BARE: bool = true;

    fn read(text: &str) -> Option<Self> {
        let unit = BYTE_UNITS.iter().find(|(unit, _)| text.ends_with(unit));
        let (number, size) = match unit {
            Some((unit, size)) => (text.strip_suffix(unit)?.trim_end(), *size),
            None => (text, 1),
        };
        digits(number)?.checked_mul(size).map(Self)
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn accepted() -> String {
        "a number of bytes, as 1048576 or 1MiB (KiB, MiB, GiB)".to_owned()
    }

    fn magnitude(&self) -> Option<u64> {
        Some(self.0)
    }

    fn print_magnitude(number: u64) -> String {
        Self(number).to_string()
    }
}

/// When an entry of the write-ahead log counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalSync {
    /// Once it is fsynced.
    Always,
    /// Once the operating system has it: a power cut may lose the last moments, a crash of the process may not.
    Os,
}

impl SettingValue for WalSync {
    fn read(text: &str) -> Option<Self> {
        match text {
            "always" => Some(Self::Always),
            "os" => Some(Self::Os),
            _ => None,
        }
    }

    fn print(&self) -> String {
        match self {
            Self::Always => "always",
            Self::Os => "os",
        }
        .to_owned()
    }

    fn accepted() -> String {
        "\"always\" or \"os\"".to_owned()
    }
}

/// Whether groups with members may change their protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMigration {
    Disabled,
    /// From the classic protocol to the new one.
    Upgrade,
    /// From the new protocol to the classic one.
    Downgrade,
    Bidirectional,
}

impl SettingValue for GroupMigration {
    fn read(text: &str) -> Option<Self> {
        match text {
            "disabled" => Some(Self::Disabled),
            "upgrade" => Some(Self::Upgrade),
            "downgrade" => Some(Self::Downgrade),
            "bidirectional" => Some(Self::Bidirectional),
            _ => None,
        }
    }

    fn print(&self) -> String {
        match self {
            Self::Disabled => "disabled",
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
            Self::Bidirectional => "bidirectional",
        }
        .to_owned()
    }

    fn accepted() -> String {
        "\"disabled\", \"upgrade\", \"downgrade\" or \"bidirectional\"".to_owned()
    }
}

/// What is logged: a level, or several `target=level` with commas between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for LogFilter {
    fn read(text: &str) -> Option<Self> {
        let level = |text: &str| matches!(text, "off" | "error" | "warn" | "info" | "debug" | "trace");
        let target =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
        let directive = |text: &str| match text.split_once('=') {
            Some((name, value)) => target(name) && level(value),
            None => level(text),
        };
        text.split(',').all(directive).then(|| Self(text.to_owned()))
    }

    fn print(&self) -> String {
        self.0.clone()
    }

    fn accepted() -> String {
        "off, error, warn, info, debug or trace, or a list as info,daybook_wal=debug".to_owned()
    }
}

impl SettingValue for PathBuf {
    fn read(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::from(text))
    }

    fn print(&self) -> String {
        self.display().to_string()
    }

    fn accepted() -> String {
        "a path".to_owned()
    }
}

impl SettingValue for bool {
    const IS_BARE: bool = true;

    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn accepted() -> String {
        "true or false".to_owned()
    }
}

impl SettingValue for u32 {
    const IS_BARE: bool = true;

    fn read(text: &str) -> Option<Self> {
        digits(text)?.try_into().ok()
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn accepted() -> String {
        "a number".to_owned()
    }

    fn magnitude(&self) -> Option<u64> {
        Some(u64::from(*self))
    }
}

impl SettingValue for u64 {
    const IS_BARE: bool = true;

    fn read(text: &str) -> Option<Self> {
        digits(text)
    }

    fn print(&self) -> String {
        self.to_string()
    }

    fn accepted() -> String {
        "a number".to_owned()
    }

    fn magnitude(&self) -> Option<u64> {
        Some(*self)
    }
}

/// Decimal digits, with `_` between them as TOML has it; no sign.
fn digits(text: &str) -> Option<u64> {
    if text.starts_with('_') || text.ends_with('_') || text.starts_with('+') {
        return None;
    }
    text.replace('_', "").parse().ok()
}
