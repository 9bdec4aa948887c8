//! Tables for people, JSON for programs.

use std::io::{self, Write};

use serde::Serialize;

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Prints a line for people.
pub fn print_line(line: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{line}")?;
    Ok(())
}

/// Columns of text, as wide as what is in them.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Debug)]
pub enum Column {
    Text(&'static str),
    /// Stands right-aligned.
    Number(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Text(title) | Self::Number(title) => title,
        }
    }
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// One cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<_> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "a row has a cell for each column");
        self.rows.push(cells);
    }

    pub fn render(&self) -> String {
        let width = |text: &str| text.chars().count();
        let widest = |at: usize| {
            let cells = self.rows.iter().map(|row| width(&row[at]));
            cells.chain([width(self.columns[at].title())]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(widest).collect();
        let titles: Vec<_> = self.columns.iter().map(|column| column.title().to_owned()).collect();
        let mut text = String::new();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(&widths) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                match column {
                    Column::Text(_) => line.push_str(&format!("{cell:<width$}")),
                    Column::Number(_) => line.push_str(&format!("{cell:>width$}")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    pub fn print(&self) -> anyhow::Result<()> {
        io::stdout().lock().write_all(self.render().as_bytes())?;
        Ok(())
    }
}
