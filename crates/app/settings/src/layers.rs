//! Lays the sources of values over each other.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::SettingsError;
use crate::file::{self, Form};
use crate::key::{ENVIRONMENT_PREFIX, Entry, KeyInfo, Source};
use crate::keys::{KEYS, Settings};

/// What a process was given. `Default` is nothing: all defaults.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Path and content of the file.
    file: Option<(PathBuf, String)>,
    environment: Vec<(String, String)>,
    flags: Vec<Flag>,
    /// Variables with our prefix that others read.
    foreign_variables: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Flag {
    key: String,
    value: String,
    /// As the person typed it: `--kafka`.
    flag: String,
}

impl Layers {
    /// The file is read now.
    pub fn read_file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
        self.set_file(path, text);
        Ok(())
    }

    pub fn set_file(&mut self, path: &Path, text: String) {
        self.file = Some((path.to_owned(), text));
    }

    /// Takes the variables that start with `DAYBOOK_`, except `foreign`, which something else reads.
    pub fn take_environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        foreign: &[&'static str],
    ) -> Result<(), SettingsError> {
        self.foreign_variables.extend(foreign);
        for (variable, value) in variables {
            if !variable.as_encoded_bytes().starts_with(ENVIRONMENT_PREFIX.as_bytes()) {
                continue;
            }
            let not_text = || SettingsError::NotText { variable: variable.to_string_lossy().into_owned() };
            let name = variable.to_str().ok_or_else(not_text)?.to_owned();
            if !foreign.contains(&name.as_str()) {
                let value = value.to_str().ok_or_else(not_text)?.to_owned();
                self.environment.push((name, value));
            }
        }
        // So that which of two errors is told doesn't depend on the order of the environment.
        self.environment.sort();
        Ok(())
    }

    /// `flag` is what the person typed, e.g. `--kafka`. A later one wins over an earlier one.
    pub fn set_flag(&mut self, key: &str, value: &str, flag: &str) {
        self.flags.push(Flag { key: key.to_owned(), value: value.to_owned(), flag: flag.to_owned() });
    }

    /// The effective settings.
    pub fn settle(&self) -> Result<Settings, SettingsError> {
        let mut entries: Vec<Entry> = KEYS.iter().map(default_entry).collect();
        if let Some((path, text)) = &self.file {
            for found in file::read(path, text)? {
                let source = Source::File { path: path.clone(), line: found.line };
                set(&mut entries, &found.key, &found.value, found.form, source)?;
            }
        }
        for (variable, value) in &self.environment {
            let Some(key) = KEYS.iter().find(|key| key.environment_name() == *variable) else {
                return Err(self.unknown_variable(variable));
            };
            set(&mut entries, key.name, value, Form::Quoted, Source::Environment { variable: variable.clone() })?;
        }
        for Flag { key, value, flag } in &self.flags {
            set(&mut entries, key, value, Form::Quoted, Source::Flag { flag: flag.clone() })?;
        }
        let settings = Settings::from_entries(entries).expect("every entry was accepted by its key when it was set");
        check_together(&settings)?;
        Ok(settings)
    }

    fn unknown_variable(&self, variable: &str) -> SettingsError {
        let known = KEYS.iter().map(KeyInfo::environment_name);
        let known = known.chain(self.foreign_variables.iter().map(|name| (*name).to_owned()));
        let nearest = known.max_by(|a, b| closeness(variable, a).total_cmp(&closeness(variable, b)));
        SettingsError::UnknownVariable { variable: variable.to_owned(), nearest: nearest.unwrap_or_default() }
    }
}

fn default_entry(key: &KeyInfo) -> Entry {
    Entry { key: key.name, value: key.default.to_owned(), source: Source::Default }
}

fn set(entries: &mut [Entry], key: &str, value: &str, form: Form, source: Source) -> Result<(), SettingsError> {
    let Some((at, info)) = KEYS.iter().enumerate().find(|(_, info)| info.name == key) else {
        return Err(SettingsError::UnknownKey { key: key.to_owned(), from: source, nearest: nearest_key(key) });
    };
    let is_right_form = form == Form::Quoted || (form == Form::Bare && info.is_bare);
    match (info.normalise)(value).filter(|_| is_right_form) {
        Some(value) => {
            entries[at] = Entry { key: info.name, value, source };
            Ok(())
        }
        None => Err(SettingsError::BadValue {
            key: info.name,
            value: value.to_owned(),
            from: source,
            accepted: (info.accepted)(),
        }),
    }
}

fn nearest_key(key: &str) -> &'static str {
    let closest = KEYS.iter().max_by(|a, b| closeness(key, a.name).total_cmp(&closeness(key, b.name)));
    closest.map(|info| info.name).unwrap_or_default()
}

/// The whole name counts, and the last part again: `kafka.port` and `listen` should both find `kafka.listen`'s family.
fn closeness(asked: &str, known: &str) -> f64 {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let whole = strsim::jaro_winkler(asked, known);
    whole.max(0.95 * strsim::normalized_damerau_levenshtein(&last(asked), &last(known)))
}

/// Rules that name two keys.
fn check_together(settings: &Settings) -> Result<(), SettingsError> {
    let conflict = |key: &str, problem: String| {
        let entry = settings.entry(key).expect("the key is in the table");
        let (value, from) = (entry.value.clone(), entry.source.clone());
        Err(SettingsError::Conflict { key: entry.key, value, from, problem })
    };
    if settings.kafka.advertised.is_none() && settings.kafka.listen.is_wildcard() {
        let problem = "is every interface, which clients can't connect to; set kafka.advertised to the address they reach this node at";
        return conflict("kafka.listen", problem.to_owned());
    }
    let (min, max) = (settings.group.session_timeout_min_ms, settings.group.session_timeout_max_ms);
    if min > max {
        return conflict("group.session_timeout_min_ms", format!("is above group.session_timeout_max_ms = {max}"));
    }
    Ok(())
}

impl Settings {
    /// All defaults.
    pub fn defaults() -> Self {
        let entries = KEYS.iter().map(default_entry).collect();
        Self::from_entries(entries).expect("a test reads every default")
    }

    /// The table of keys.
    pub fn keys() -> &'static [KeyInfo] {
        KEYS
    }

    /// Each key's value and where it came from, in the order of the table.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}
