//! The line that says that a server is ready.

/// Fields of `daybook ready kafka=… http=… data=…`; later doors add fields, which are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    pub kafka: String,
    pub http: String,
    pub data: String,
}

impl Ready {
    /// `None` where a field is missing.
    pub fn read(line: &str) -> Option<Self> {
        let fields = line.strip_prefix("daybook ready ")?;
        // The data directory comes last and may have spaces in it.
        let (doors, data) = fields.split_once("data=")?;
        let door = |name: &str| {
            let mut doors = doors.split_whitespace();
            doors.find_map(|field| field.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        Some(Self { kafka: door("kafka")?, http: door("http")?, data: data.to_owned() })
    }
}

#[cfg(test)]
mod tests;
