//! The knobs of a search and their product. One grammar for the command line, experiment files and result lines.

use gleann::{EngineChoice, SearchKind, Width};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Widths in results: a fixed width is a number, a dynamic one is text.
pub mod width_form {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Width};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(u32),
        Text(String),
    }

    /// Writes a width.
    ///
    /// # Errors
    /// The writer fails.
    pub fn serialize<S: Serializer>(width: &Option<Width>, serializer: S) -> Result<S::Ok, S::Error> {
        let form = width.map(|width| match width {
            Width::Fixed(width) => Form::Number(width),
            dynamic => Form::Text(dynamic.to_string()),
        });
        form.serialize(serializer)
    }

    /// Reads a width.
    ///
    /// # Errors
    /// It is neither a number nor text that names a width.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Width>, D::Error> {
        let text = match Option::<Form>::deserialize(deserializer)? {
            None => return Ok(None),
            Some(Form::Number(width)) => width.to_string(),
            Some(Form::Text(text)) => text,
        };
        text.parse().map(Some).map_err(serde::de::Error::custom)
    }
}

/// Values to try on each axis; every combination is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Candidate list lengths, L.
    pub list: Vec<u32>,
    /// Traversals.
    pub search: Vec<SearchKind>,
    /// Widths.
    pub width: Vec<Width>,
    /// Threads; 0 stands for one per core.
    pub threads: Vec<u32>,
    /// Searches interleaved per thread.
    pub in_flight: Vec<u32>,
    /// I/O engines.
    pub engine: Vec<EngineChoice>,
}

/// What needs the index to be opened anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPoint {
    /// I/O engine.
    pub engine: EngineChoice,
    /// Threads; 0 stands for one per core.
    pub threads: u32,
    /// Searches interleaved per thread.
    pub in_flight: u32,
}

/// What may change from one search to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchPoint {
    /// Traversal.
    pub search: SearchKind,
    /// Width.
    pub width: Width,
    /// Candidate list length, L.
    pub list: u32,
}

impl Sweep {
    /// Combinations of the open parameters, first axis slowest.
    pub fn open_points(&self) -> Vec<OpenPoint> {
        let mut points = Vec::new();
        for &engine in &self.engine {
            for &threads in &self.threads {
                points.extend(self.in_flight.iter().map(|&in_flight| OpenPoint {
                    engine,
                    threads,
                    in_flight,
                }));
            }
        }
        points
    }

    /// Combinations of the search parameters, list length fastest.
    pub fn search_points(&self) -> Vec<SearchPoint> {
        let mut points = Vec::new();
        for &search in &self.search {
            for &width in &self.width {
                points.extend(self.list.iter().map(|&list| SearchPoint { search, width, list }));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Held(#[serde(with = "width_form")] Option<Width>);

    #[test]
    fn widths_are_numbers_or_text() {
        for (width, text) in
            [(Some(Width::Fixed(4)), "4"), (Some(Width::DYNAMIC), "\"dynamic:4-32\""), (None, "null")]
        {
            assert_eq!(serde_json::to_string(&Held(width)).unwrap(), text);
            assert_eq!(serde_json::from_str::<Held>(text).unwrap(), Held(width));
        }
        for text in ["0", "\"wide\"", "-1", "4.5"] {
            assert!(serde_json::from_str::<Held>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sweep_is_a_product() {
        let sweep = Sweep {
            list: vec![10, 20, 40],
            search: vec![SearchKind::Beam, SearchKind::Pipe],
            width: vec![Width::Fixed(4)],
            threads: vec![1, 2],
            in_flight: vec![8],
            engine: vec![EngineChoice::Auto],
        };
        assert_eq!(sweep.open_points().len(), 2);
        let points = sweep.search_points();
        assert_eq!(points.len(), 6);
        assert_eq!(
            (points[1].search, points[1].list, points[3].search),
            (SearchKind::Beam, 20, SearchKind::Pipe)
        );
    }
}
