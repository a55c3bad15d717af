//! A table of a TOML file that is read key by key and complains precisely: file, key, found, expected. Keys that
//! nobody asked for are errors, so a misspelt knob is never silently a default.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use toml::{Table, Value};

/// A table being read.
#[derive(Debug)]
pub struct Section<'a> {
    file: &'a str,
    prefix: String,
    table: Option<&'a Table>,
    asked: BTreeSet<String>,
}

impl<'a> Section<'a> {
    /// The table `prefix` of `file`; keys are reported as `prefixKEY`.
    pub fn new(file: &'a str, prefix: &str, table: &'a Table) -> Self {
        Self { file, prefix: prefix.to_owned(), table: Some(table), asked: BTreeSet::new() }
    }

    /// The words of a complaint about `key`.
    pub fn expected(&self, key: &str, found: &str, expected: &str) -> String {
        format!("{}: key `{}{key}`: found {found}, expected {expected}", self.file, self.prefix)
    }

    fn take(&mut self, key: &str) -> Option<&'a Value> {
        self.asked.insert(key.to_owned());
        self.table?.get(key)
    }

    /// Text, if the key is there.
    pub fn text(&mut self, key: &str) -> Result<Option<String>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let text = value.as_str().filter(|text| !text.is_empty());
        Ok(Some(text.with_context(|| self.expected(key, &value.to_string(), "text in quotes"))?.to_owned()))
    }

    /// A whole number within `range`, if the key is there.
    pub fn count(&mut self, key: &str, range: &RangeInclusive<u32>) -> Result<Option<u32>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        self.whole(key, value, range).map(Some)
    }

    /// One value or a list of values that `parse` reads from text or numbers.
    pub fn parsed<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>> {
        self.each(key, |section, key, value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            parse(&text).map_err(|expected: String| {
                let expected = expected.rsplit_once("expected ").map_or(expected.as_str(), |parts| parts.1);
                anyhow::anyhow!(section.expected(key, &value.to_string(), expected))
            })
        })
    }

    /// One value that `parse` reads from text or a number, if the key is there.
    pub fn one<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>> {
        let Some(mut values) = self.parsed(key, parse)? else { return Ok(None) };
        if values.len() > 1 {
            bail!(self.expected(key, &format!("{} values", values.len()), "one"));
        }
        Ok(values.pop())
    }

    /// A number within `range`, if the key is there.
    pub fn number(&mut self, key: &str, range: &RangeInclusive<f64>) -> Result<Option<f64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        number.filter(|number| range.contains(number)).map(Some).with_context(|| {
            let expected = format!("a number from {} to {}", range.start(), range.end());
            self.expected(key, &value.to_string(), &expected)
        })
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// A number from 0 to 1, if the key is there.
    pub fn share(&mut self, key: &str) -> Result<Option<f64>> {
        self.number(key, &(0.0..=1.0))
    }

    /// The table `key`; empty if it is not there.
    pub fn section(&mut self, key: &str) -> Result<Section<'a>> {
        let table = match self.take(key) {
            None => None,
            Some(value) => {
                Some(value.as_table().with_context(|| self.expected(key, &value.to_string(), "a table"))?)
            }
        };
        Ok(Section {
            file: self.file,
            prefix: format!("{}{key}.", self.prefix),
            table,
            asked: BTreeSet::new(),
        })
    }

    /// The tables of the array `key`; none if it is not there.
    pub fn sections(&mut self, key: &str) -> Result<Vec<Section<'a>>> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let wrong = || self.expected(key, &value.to_string(), &format!("tables headed [[{key}]]"));
        let tables = value.as_array().with_context(wrong)?;
        let mut sections = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let prefix = format!("{}{key}[{index}].", self.prefix);
            sections.push(Section::new(self.file, &prefix, table.as_table().with_context(wrong)?));
        }
        Ok(sections)
    }

    /// Complains about keys that were never asked for.
    pub fn finish(&self) -> Result<()> {
        let unknown = self.table.and_then(|table| table.keys().find(|key| !self.asked.contains(*key)));
        if let Some(key) = unknown {
            let known: Vec<String> = self.asked.iter().map(|key| format!("`{key}`")).collect();
            bail!(
                "{}: key `{}{key}` is unknown, expected one of {}",
                self.file,
                self.prefix,
                known.join(", ")
            );
        }
        Ok(())
    }

    fn whole(&self, key: &str, value: &Value, range: &RangeInclusive<u32>) -> Result<u32> {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| range.contains(number)).with_context(|| {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            self.expected(key, &value.to_string(), &expected)
        })
    }

    fn each<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Self, &str, &Value) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let Some(values) = value.as_array() else { return Ok(Some(vec![read(self, key, value)?])) };
        if values.is_empty() {
            bail!(self.expected(key, "an empty list", "at least one value"));
        }
        let read_one = |(index, value)| read(self, &format!("{key}[{index}]"), value);
        values.iter().enumerate().map(read_one).collect::<Result<_>>().map(Some)
    }
}
