//! A runbook run over a model of its set, before anything is built: what cannot be right is found in seconds.

use super::step::{Runbook, Step, Update};
use crate::live::LiveSet;
use anyhow::{Result, bail, ensure};
use std::ops::Range;

/// What a runbook does to its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Steps at which recall is measured.
    pub searches: usize,
    /// Most live tags after any step.
    pub most_live: u64,
    /// Live tags at the end.
    pub last_live: u64,
    /// Whether it uses our extension.
    pub is_concurrent: bool,
}

/// Runs `book` over a model with `rows` rows. With `allow_dead`, changes of tags that are not there (and inserts of
/// tags that are) pass, and do what they do to an index: nothing, but for a replacement, which inserts.
///
/// # Errors
/// A range reaches beyond the data set, a tag is changed that is not live or inserted though it is, or more tags are
/// live than `max_pts` says. The message names the step.
pub fn check(book: &Runbook, rows: u64, allow_dead: bool) -> Result<Extent> {
    let mut set = LiveSet::empty(rows);
    let mut extent = Extent { searches: 0, most_live: 0, last_live: 0, is_concurrent: false };
    for (number, step) in (1..).zip(&book.steps) {
        if let Some(update) = step.update() {
            check_ranges(update, rows).map_err(|error| error.context(format!("step {number}")))?;
            if !allow_dead {
                check_tags(update, &set).map_err(|error| error.context(format!("step {number}")))?;
            }
            apply(update, &mut set);
        }
        ensure!(
            set.live() <= book.max_points,
            "step {number}: {} live points; `max_pts` promises at most {}",
            set.live(),
            book.max_points
        );
        extent.most_live = extent.most_live.max(set.live());
        extent.searches += usize::from(step.searches());
        extent.is_concurrent |= matches!(step, Step::Concurrent(_));
    }
    extent.last_live = set.live();
    Ok(extent)
}

/// What `update` does to a set.
pub fn apply(update: &Update, set: &mut LiveSet) {
    for tag in update.tags() {
        match (update, update.row_of(tag)) {
            // A second insert is refused by an index, and the first vector stays.
            (Update::Insert(_), Some(row)) if set.row_of(tag).is_none() => drop(set.put(tag, row)),
            (Update::Insert(_), _) => {}
            (_, Some(row)) => drop(set.put(tag, row)),
            (_, None) => drop(set.remove(tag)),
        }
    }
}

fn check_ranges(update: &Update, rows: u64) -> Result<()> {
    let within = |range: &Range<u32>, fields: &str| -> Result<()> {
        ensure!(
            u64::from(range.end) <= rows,
            "fields {fields}: {}..{} reaches beyond the {rows} rows of the data set",
            range.start,
            range.end
        );
        Ok(())
    };
    match update {
        Update::Insert(tags) | Update::Delete(tags) => within(tags, "`start` and `end`"),
        Update::Replace { tags, rows } => {
            within(tags, "`tags_start` and `tags_end`")?;
            within(rows, "`ids_start` and `ids_end`")
        }
    }
}

fn check_tags(update: &Update, set: &LiveSet) -> Result<()> {
    let should_live = !matches!(update, Update::Insert(_));
    let Some(tag) = update.tags().find(|&tag| set.row_of(tag).is_some() != should_live) else {
        return Ok(());
    };
    let name = update.name();
    if should_live {
        bail!("{name} of tag {tag}, which is not live; --allow-dead lets it pass");
    }
    bail!("{name} of tag {tag}, which is live already; --allow-dead lets it pass");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runbook::parse_runbook;

    fn book(steps: &[&str]) -> Runbook {
        let lines = (1..).zip(steps).map(|(number, step)| format!("  {number}: {{operation: {step}}}\n"));
        parse_runbook(&format!("d:\n  max_pts: 8\n{}", lines.collect::<String>()), None).unwrap()
    }

    #[test]
    fn what_a_runbook_may_do_is_counted() {
        let book = book(&[
            "insert, start: 0, end: 6",
            "search",
            "delete, start: 0, end: 3",
            "replace, tags_start: 3, tags_end: 5, ids_start: 6, ids_end: 8",
            "concurrent, update: insert, start: 0, end: 2",
        ]);
        let extent = check(&book, 10, false).unwrap();
        assert_eq!(extent, Extent { searches: 2, most_live: 6, last_live: 5, is_concurrent: true });
        let mut set = LiveSet::empty(10);
        book.steps.iter().filter_map(Step::update).for_each(|update| apply(update, &mut set));
        assert_eq!(set.entries().collect::<Vec<_>>(), [(0, 0), (1, 1), (3, 6), (4, 7), (5, 5)]);
    }

    #[test]
    fn what_it_may_not_do_is_named() {
        for (steps, parts) in [
            (vec!["insert, start: 0, end: 11"], ["step 1", "`start` and `end`: 0..11", "10 rows"]),
            (
                vec![
                    "insert, start: 0, end: 4",
                    "replace, tags_start: 0, tags_end: 4, ids_start: 8, ids_end: 12",
                ],
                ["step 2", "`ids_start`", "10 rows"],
            ),
            (vec!["insert, start: 0, end: 9"], ["step 1", "9 live points", "at most 8"]),
            (
                vec!["insert, start: 0, end: 4", "delete, start: 3, end: 5"],
                ["step 2", "delete of tag 4", "not live"],
            ),
            (
                vec!["replace, tags_start: 0, tags_end: 4, ids_start: 4, ids_end: 8"],
                ["step 1", "replace of tag 0", "--allow-dead"],
            ),
            (
                vec!["insert, start: 2, end: 4", "insert, start: 0, end: 3"],
                ["step 2", "insert of tag 2", "live already"],
            ),
        ] {
            let error = format!("{:#}", check(&book(&steps), 10, false).unwrap_err());
            for part in parts {
                assert!(error.contains(part), "{error}\nlacks {part}");
            }
        }
        let lenient =
            book(&["insert, start: 2, end: 4", "insert, start: 0, end: 3", "delete, start: 3, end: 5"]);
        assert_eq!(check(&lenient, 10, true).unwrap().last_live, 3);
    }
}
