//! `daybook category`.

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::commands::stream::client::{Client, HttpArguments};
use crate::output::{Column, Table, print_json};
use crate::session::Session;

#[derive(Debug, Args)]
pub struct CategoryArguments {
    #[command(flatten)]
    server: HttpArguments,
    #[command(subcommand)]
    command: CategoryCommand,
}

#[derive(Debug, Subcommand)]
enum CategoryCommand {
    /// List the categories: the topics in which streams live.
    List,
}

#[derive(Deserialize)]
struct Answer {
    categories: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    category: String,
}

pub fn run(session: &Session, arguments: &CategoryArguments) -> anyhow::Result<()> {
    let client = Client::new(&arguments.server);
    match arguments.command {
        CategoryCommand::List => list(session, &client),
    }
}

fn list(session: &Session, client: &Client) -> anyhow::Result<()> {
    let answer: Answer = client.get("/categories")?;
    let rows: Vec<_> = answer.categories.into_iter().map(|category| Row { category }).collect();
    if session.is_json {
        return print_json(&rows);
    }
    let mut table = Table::new(&[Column::Text("CATEGORY")]);
    for row in rows {
        table.row([row.category]);
    }
    table.print()
}
