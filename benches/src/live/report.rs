//! Where the lines of a run go: to the reader at once, into a file at once, into pictures at the end.

use super::figure::write_figures;
use super::row::LiveRow;
use super::stalls::compare;
use super::table::{comparison, comparison_header, header, line, stalls_line};
use crate::row::{Environment, append_lines};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Takes lines as they come.
#[derive(Debug)]
pub struct Report {
    environment: Environment,
    out: Option<PathBuf>,
    rows: Vec<LiveRow>,
}

impl Report {
    /// Begins the table.
    pub fn begin(environment: Environment, out: Option<PathBuf>, k: u32) -> Self {
        println!("{}", header(k));
        Self { environment, out, rows: Vec::new() }
    }

    /// Takes a line.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn take(&mut self, row: &LiveRow) -> Result<()> {
        println!("{}", line(row));
        if let Some(stalls) = &row.stalls {
            println!("{}", stalls_line(stalls));
        }
        if let Some(short) = row.short_answers.filter(|&short| short > 0) {
            eprintln!("warning: {short} answers had fewer neighbours than there are");
        }
        let row = LiveRow { environment: self.environment.clone(), ..row.clone() };
        if let Some(out) = &self.out {
            append_lines(out, std::slice::from_ref(&row))?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// The lines.
    pub fn into_rows(self) -> Vec<LiveRow> {
        self.rows
    }

    /// Says where the lines are, and draws them into `folder` if there is one.
    ///
    /// # Errors
    /// A picture cannot be written.
    pub fn end(self, title: &str, folder: Option<&Path>) -> Result<()> {
        let compared = compare(&self.rows);
        if !compared.is_empty() {
            println!("\n{}", comparison_header());
            compared.iter().for_each(|compared| println!("{}", comparison(compared)));
        }
        if let Some(out) = &self.out {
            println!("result lines are in {}", out.display());
        }
        if let Some(folder) = folder {
            for path in write_figures(&self.rows, title, folder)? {
                println!("wrote {}", path.display());
            }
        }
        Ok(())
    }
}
