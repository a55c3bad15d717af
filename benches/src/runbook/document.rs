//! The file of a runbook: the YAML of the big-ann streaming track, read strictly, and one extension of ours.

use super::step::{Runbook, Step, Update};
use anyhow::{Context, Result, bail, ensure};
use saphyr::{LoadableYamlNode, MarkedYaml};
use std::ops::Range;
use std::path::Path;

type Node<'a> = MarkedYaml<'a>;

/// Reads the steps for `data_set`; where it is `None`, the file must hold exactly one.
///
/// # Errors
/// The file cannot be read, is no runbook, or does not hold the data set. The message names file, line, step and field.
pub fn read_runbook(path: &Path, data_set: Option<&str>) -> Result<Runbook> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read runbook {}", path.display()))?;
    parse_runbook(&text, data_set).with_context(|| format!("runbook {}", path.display()))
}

/// As [`read_runbook`], of text.
///
/// # Errors
/// As [`read_runbook`].
pub fn parse_runbook(text: &str, data_set: Option<&str>) -> Result<Runbook> {
    let documents = MarkedYaml::load_from_str(text).context("it is not YAML")?;
    let [document] = documents.as_slice() else {
        bail!("{} YAML documents; expected one", documents.len());
    };
    let sets = pairs(document, "the file", "data sets by name")?;
    let names: Vec<&str> = sets.iter().filter_map(|(name, _)| name.data.as_str()).collect();
    ensure!(names.len() == sets.len(), "a data set has a name that is no text");
    let wanted = match (data_set, names.as_slice()) {
        (Some(wanted), _) => wanted,
        (None, [only]) => only,
        (None, _) => bail!("it holds the data sets {}; choose one with --dataset", names.join(", ")),
    };
    let place = names.iter().position(|name| *name == wanted);
    let place = place.with_context(|| format!("no data set `{wanted}`; it holds {}", names.join(", ")))?;
    read_set(wanted, sets[place].1).with_context(|| format!("data set `{wanted}`"))
}

fn read_set(name: &str, node: &Node<'_>) -> Result<Runbook> {
    let mut max_points = None;
    let mut steps = Vec::new();
    for (key, value) in pairs(node, "a data set", "`max_pts` and numbered steps")? {
        match (key.data.as_integer(), key.data.as_str()) {
            (Some(number), _) => steps.push((number, value)),
            (_, Some("max_pts")) => max_points = Some(count(value, "max_pts")?),
            // Where other tools fetch their truth from. Ours is computed.
            (_, Some("gt_url")) => {}
            (_, Some(other)) => bail!(
                "line {}: unknown key `{other}`; expected `max_pts`, `gt_url` and step numbers",
                line(key)
            ),
            (None, None) => bail!("line {}: a key that is neither a word nor a step number", line(key)),
        }
    }
    let max_points = max_points.context("`max_pts` is missing: the most points that are live at a time")?;
    steps.sort_by_key(|(number, _)| *number);
    for (expected, (number, node)) in (1..).zip(&steps) {
        ensure!(
            *number == expected,
            "line {}: step {number} where step {expected} was expected; steps are numbered 1, 2, 3, … without gaps (other \
             tools would end there in silence)",
            line(node)
        );
    }
    ensure!(!steps.is_empty(), "there are no steps");
    let read = |(number, node): &(i64, &Node<'_>)| {
        read_step(node).with_context(|| format!("step {number} (line {})", line(node)))
    };
    let steps = steps.iter().map(read).collect::<Result<_>>()?;
    Ok(Runbook { data_set: name.to_owned(), max_points, steps })
}

fn read_step(node: &Node<'_>) -> Result<Step> {
    let mut fields = Fields { left: pairs(node, "a step", "`operation` and its fields")? };
    let operation = fields.word("operation")?;
    let step = match operation {
        "search" => Step::Search,
        "concurrent" => {
            let update = fields.word("update")?;
            Step::Concurrent(fields.update(update, "update")?)
        }
        other => Step::Update(fields.update(other, "operation")?),
    };
    fields.done(operation)?;
    Ok(step)
}

/// The fields of a step that have not been read.
struct Fields<'a, 'y> {
    left: Vec<(&'a Node<'y>, &'a Node<'y>)>,
}

impl<'a, 'y> Fields<'a, 'y> {
    fn take(&mut self, name: &str) -> Result<&'a Node<'y>> {
        let place = self.left.iter().position(|(key, _)| key.data.as_str() == Some(name));
        let place = place.with_context(|| format!("field `{name}` is missing"))?;
        Ok(self.left.swap_remove(place).1)
    }

    fn word(&mut self, name: &str) -> Result<&'a str> {
        let value = self.take(name)?;
        value.data.as_str().with_context(|| format!("field `{name}` is no word"))
    }

    fn update(&mut self, name: &str, field: &str) -> Result<Update> {
        Ok(match name {
            "insert" => Update::Insert(self.range(("start", "end"))?),
            "delete" => Update::Delete(self.range(("start", "end"))?),
            "replace" => {
                let tags = self.range(("tags_start", "tags_end"))?;
                let rows = self.range(("ids_start", "ids_end"))?;
                ensure!(
                    tags.len() == rows.len(),
                    "fields `tags_start` to `ids_end`: {} tags and {} rows; expected as many",
                    tags.len(),
                    rows.len()
                );
                Update::Replace { tags, rows }
            }
            other => bail!(
                "field `{field}`: unknown operation `{other}`; expected insert, delete, replace, search or concurrent"
            ),
        })
    }

    fn range(&mut self, (start, end): (&str, &str)) -> Result<Range<u32>> {
        let mut bound = |name: &str| {
            let value = count(self.take(name)?, name)?;
            u32::try_from(value).with_context(|| format!("field `{name}`: {value} is beyond any row number"))
        };
        let range = bound(start)?..bound(end)?;
        ensure!(
            !range.is_empty(),
            "fields `{start}` {} and `{end}` {}: nothing between them",
            range.start,
            range.end
        );
        Ok(range)
    }

    fn done(self, operation: &str) -> Result<()> {
        let Some((key, _)) = self.left.first() else { return Ok(()) };
        let name = key.data.as_str().unwrap_or("(no word)");
        bail!("unknown field `{name}` of operation `{operation}`");
    }
}

/// The pairs of a mapping, in the order of the file.
fn pairs<'a, 'y>(
    node: &'a Node<'y>,
    what: &str,
    expected: &str,
) -> Result<Vec<(&'a Node<'y>, &'a Node<'y>)>> {
    let mapping = node.data.as_mapping();
    let mapping =
        mapping.with_context(|| format!("line {}: {what} is no mapping; expected {expected}", line(node)))?;
    Ok(mapping.iter().collect())
}

fn count(node: &Node<'_>, field: &str) -> Result<u64> {
    let number = node.data.as_integer().and_then(|number| u64::try_from(number).ok());
    number.with_context(|| format!("field `{field}` is no whole number from 0 on"))
}

fn line(node: &Node<'_>) -> usize {
    node.span.start.line()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As big-ann-benchmarks writes it: flow and block style, a data set that is not asked for, a truth elsewhere.
    const SIMPLE: &str = r#"
random-xs:
  max_pts: 10000
  1:
    operation: "insert"
    start: 0
    end: 10000
  2:
    operation: "search"
  3: {operation: "delete", start: 0, end: 5000}
  4: {operation: "replace", tags_start: 5000, tags_end: 7500, ids_start: 7500, ids_end: 10000}
  5: {operation: "concurrent", update: "insert", start: 0, end: 5000}
  gt_url: "https://example.org/simple_runbook.yaml"
msturing-10M:
  max_pts: 5
  1: {operation: search}
"#;

    #[test]
    fn a_published_runbook_is_read() {
        let book = parse_runbook(SIMPLE, Some("random-xs")).unwrap();
        assert_eq!((book.data_set.as_str(), book.max_points), ("random-xs", 10_000));
        assert_eq!(
            book.steps,
            [
                Step::Update(Update::Insert(0..10_000)),
                Step::Search,
                Step::Update(Update::Delete(0..5000)),
                Step::Update(Update::Replace { tags: 5000..7500, rows: 7500..10_000 }),
                Step::Concurrent(Update::Insert(0..5000)),
            ]
        );
        assert_eq!(book.steps[3].update().unwrap().row_of(5001), Some(7501));
        assert_eq!(book.steps[4].to_string(), "search while insert 0..5000");
    }

    #[test]
    fn what_is_wrong_is_named_with_step_and_field() {
        let step = |step: &str| format!("d:\n  max_pts: 9\n  1: {step}\n");
        for (text, parts) in [
            (SIMPLE.to_owned(), vec!["--dataset", "random-xs, msturing-10M"]),
            ("[1, 2".to_owned(), vec!["not YAML"]),
            ("- 1\n".to_owned(), vec!["data sets by name"]),
            ("d:\n  1: {operation: search}\n".to_owned(), vec!["data set `d`", "`max_pts` is missing"]),
            ("d:\n  max_pts: 9\n".to_owned(), vec!["no steps"]),
            ("d:\n  max_pts: -1\n".to_owned(), vec!["`max_pts`", "whole number"]),
            ("d:\n  max_pts: 9\n  limit: 3\n".to_owned(), vec!["line 3", "`limit`"]),
            (
                "d:\n  max_pts: 9\n  1: {operation: search}\n  3: {operation: search}\n".to_owned(),
                vec!["line 4", "step 3", "step 2 was expected"],
            ),
            (
                "d:\n  max_pts: 9\n  1: {operation: search}\n  1: {operation: search}\n".to_owned(),
                vec!["duplicate"],
            ),
            (step("{start: 1}"), vec!["step 1 (line 3)", "`operation` is missing"]),
            (step("{operation: search, k: 5}"), vec!["step 1", "`k`", "`search`"]),
            (step("{operation: upsert, start: 0, end: 1}"), vec!["step 1", "`operation`", "`upsert`"]),
            (step("{operation: insert, start: 0}"), vec!["step 1", "`end` is missing"]),
            (step("{operation: insert, start: zero, end: 1}"), vec!["`start`", "whole number"]),
            (step("{operation: insert, start: 0, end: 4294967296}"), vec!["`end`", "4294967296"]),
            (step("{operation: delete, start: 5, end: 5}"), vec!["`start` 5 and `end` 5"]),
            (
                step("{operation: replace, tags_start: 0, tags_end: 2, ids_start: 0, ids_end: 3}"),
                vec!["2 tags and 3 rows"],
            ),
            (step("{operation: concurrent, start: 0, end: 3}"), vec!["`update` is missing"]),
            (step("{operation: concurrent, update: search}"), vec!["`update`", "`search`"]),
        ] {
            let error = format!("{:#}", parse_runbook(&text, None).unwrap_err());
            for part in parts {
                assert!(error.contains(part), "{text}\n{error}\nlacks {part}");
            }
        }
        let error = format!("{:#}", parse_runbook(SIMPLE, Some("sift")).unwrap_err());
        assert!(error.contains("no data set `sift`"), "{error}");
    }
}
