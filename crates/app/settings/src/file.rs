//! Reads the TOML file into keys and texts; which keys exist is not known here.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::SettingsError;

/// A value as the file has it.
pub(crate) struct FileEntry {
    pub key: String,
    pub value: String,
    pub form: Form,
    /// From 1.
    pub line: usize,
}

/// How the value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Quoted,
    /// An integer or a boolean.
    Bare,
    /// Anything else: an array, a float, a date. No key takes one.
    Other,
}

/// Every value of the document with its dotted key, in no particular order.
pub(crate) fn read(path: &Path, text: &str) -> Result<Vec<FileEntry>, SettingsError> {
    let table = DeTable::parse(text).map_err(|error| SettingsError::Syntax {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        reason: error.message().to_owned(),
    })?;
    let mut entries = Vec::new();
    walk(text, "", table.get_ref(), &mut entries);
    Ok(entries)
}

/// TOML's parser bounds how deep tables nest, so this recursion is bounded too.
fn walk(text: &str, prefix: &str, table: &DeTable<'_>, entries: &mut Vec<FileEntry>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
        match value.get_ref() {
            DeValue::Table(inner) => walk(text, &key, inner, entries),
            _ => entries.push(FileEntry {
                key,
                value: value_text(text, value),
                form: form(value.get_ref()),
                line: line_of(text, name.span().start),
            }),
        }
    }
}

/// A string's content; anything else as it is written, which the key's type then accepts or not.
fn value_text(text: &str, value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(content) => content.to_string(),
        _ => text.get(value.span()).unwrap_or_default().to_owned(),
    }
}

fn form(value: &DeValue<'_>) -> Form {
    match value {
        DeValue::String(_) => Form::Quoted,
        DeValue::Integer(_) | DeValue::Boolean(_) => Form::Bare,
        _ => Form::Other,
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
