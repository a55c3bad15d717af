//! The catalogue as people read it.

use super::catalogue::{Catalogue, DataSet, Obtain};
use std::fmt::Write;

/// A table of all sets, one a line.
pub fn table(catalogue: &Catalogue) -> String {
    let head = ["NAME", "TYPE", "DIM", "ROWS", "QUERIES", "METRIC", "SIZE", "OBTAINED", "LICENCE"];
    let mut rows = vec![head.map(String::from)];
    rows.extend(catalogue.sets.iter().map(|set| {
        [
            set.name.clone(),
            set.element.to_string(),
            set.dim.to_string(),
            grouped(set.rows),
            grouped(set.queries),
            set.metric.to_string(),
            size(set.base_bytes()),
            obtained(&set.obtain),
            set.licence.clone(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let number = matches!(column, 2..=4 | 6);
            let padding = " ".repeat(widths[column] - cell.chars().count());
            let cell = if number { format!("{padding}{cell}  ") } else { format!("{cell}{padding}  ") };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(
        "\n`cargo xtask dataset get NAME --dir DIR` obtains one, `dataset list NAME` tells more of it.\n",
    );
    text
}

/// All that is known of one set.
pub fn details(set: &DataSet) -> String {
    let mut text = format!("{}: {}\n", set.name, set.about);
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "  {what:<9} {value}");
    };
    let (rows, queries) = (grouped(set.rows), grouped(set.queries));
    line("vectors", format!("{rows} rows, {queries} queries, {} × {}", set.dim, set.element));
    line("metric", set.metric.to_string());
    line("size", size(set.base_bytes()));
    line("licence", set.licence.clone());
    line("origin", set.origin.clone());
    line("limits", set.limits.clone());
    line("obtained", obtained(&set.obtain));
    match &set.obtain {
        Obtain::Embedded(made) => line("folder", format!("datasets/{}", made.folder)),
        Obtain::Packages(made) => line("needs", needs(set).unwrap_or_default() + &made.tools.join(", ")),
        Obtain::Download(remote) => {
            line("address", remote.base.urls.join(" "));
            for truth in &remote.truth {
                line("truth", format!("of {} rows: {}", grouped(truth.rows), truth.urls.join(" ")));
            }
        }
        Obtain::Archive(archive) => {
            line("address", archive.urls.join(" "));
            line("archive", format!("{}, MD5 {}", archive.name, archive.md5));
        }
    }
    text
}

/// What making a set from packages takes.
pub fn needs(set: &DataSet) -> Option<String> {
    let Obtain::Packages(made) = &set.obtain else { return None };
    Some(format!(
        "about {} MB of packages, {} min of CPU, {} GB of memory, ",
        grouped(made.download_mb),
        made.cpu_minutes,
        made.memory_gb
    ))
}

fn obtained(obtain: &Obtain) -> String {
    match obtain {
        Obtain::Embedded(_) => "in the repository".into(),
        Obtain::Packages(made) => format!("from packages, {} min", made.cpu_minutes),
        Obtain::Download(_) => "download, slices".into(),
        Obtain::Archive(archive) => format!("download, {}", size(archive.bytes)),
    }
}

/// Bytes in decimal units.
pub fn size(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| bytes as f64 >= *scale).unwrap_or(("MB", 1e6));
    let value = bytes as f64 / scale;
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([grouped(7), grouped(1000), grouped(1_000_000_000)], ["7", "1 000", "1 000 000 000"]);
        assert_eq!([size(2_560_000), size(128_000_000_000), size(0)], ["2.6 MB", "128 GB", "0.0 MB"]);
    }

    #[test]
    fn the_table_has_a_line_for_every_set() {
        let catalogue = Catalogue::load().unwrap();
        let text = table(&catalogue);
        for set in &catalogue.sets {
            let line = text.lines().find(|line| line.starts_with(&format!("{} ", set.name))).unwrap();
            assert!(line.contains(&set.licence) && line.contains(set.metric.name()));
            assert!(details(set).contains(&set.origin));
        }
    }
}
