//! The axes of a search and their product. One grammar for the command line, experiment files, presets and result
//! lines; an axis is declared once, here.

use crate::run_bench::Section;
use gleann::{
    CachePolicy, EngineChoice, Entry, Expansion, MAX_IN_FLIGHT, MAX_THREADS, SearchKind, SearchOptions, Stop,
    Width,
};
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

/// Candidate list lengths where nobody names any.
pub const LISTS: [u32; 8] = [10, 15, 20, 30, 40, 60, 80, 120];
/// Longest list that is measured.
const LONGEST: u32 = 100_000;

/// Declares a point (one value an axis) and its axes (any number of values an axis: none leaves the point's own).
macro_rules! axes {
    ($(#[$about:meta])* $point:ident, $axes:ident {
        $($(#[$doc:meta])* $axis:ident: $kind:ty = $default:expr, $parse:expr;)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $point {
            $($(#[$doc])* pub $axis: $kind,)*
        }

        impl Default for $point {
            fn default() -> Self {
                Self { $($axis: $default,)* }
            }
        }

        impl $point {
            /// Reads one value an axis; keys that are not there keep the value of `base`.
            ///
            /// # Errors
            /// A value is not understood, or there are several.
            pub fn read(section: &mut Section, base: Self) -> anyhow::Result<Self> {
                Ok(Self { $($axis: section.one(stringify!($axis), $parse)?.unwrap_or(base.$axis),)* })
            }
        }

        impl std::fmt::Display for $point {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let values = [$((stringify!($axis).replace('_', " "), self.$axis.to_string()),)*];
                let values: Vec<String> = values.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
                f.write_str(&values.join(", "))
            }
        }

        /// Values to try; every combination is measured.
        #[derive(Debug, Clone, Default, PartialEq, clap::Args)]
        #[group(multiple = true, conflicts_with = "experiment")]
        pub struct $axes {
            $($(#[$doc])* #[arg(long, value_delimiter = ',', value_parser = $parse)] pub $axis: Vec<$kind>,)*
        }

        impl $axes {
            /// Reads one value or a list of values an axis.
            ///
            /// # Errors
            /// A value is not understood.
            pub fn read(section: &mut Section) -> anyhow::Result<Self> {
                Ok(Self { $($axis: section.parsed(stringify!($axis), $parse)?.unwrap_or_default(),)* })
            }

            /// Every combination, the first axis slowest; an axis without values keeps that of `base`.
            pub fn points(&self, base: $point) -> Vec<$point> {
                let mut points = vec![base];
                $(if !self.$axis.is_empty() {
                    let vary = |point: $point| {
                        self.$axis.iter().map(move |$axis| $point { $axis: $axis.clone(), ..point.clone() })
                    };
                    points = points.into_iter().flat_map(vary).collect();
                })*
                points
            }
        }
    };
}

axes! {
    /// What needs the index to be opened anew.
    OpenPoint, OpenAxes {
        /// I/O engines: auto, glommio, pool, mmap [default: auto]
        engine: EngineChoice = EngineChoice::Auto, text::<EngineChoice>;
        /// Threads; 0 is one per core [default: 0]
        threads: u32 = 0, |given: &str| count(given, 0, MAX_THREADS as u32);
        /// Searches interleaved per thread [default: 8]
        in_flight: u32 = 8, |given: &str| count(given, 1, MAX_IN_FLIGHT as u32);
        /// Records held in memory: none, sssp:SIZE or hot:SIZE, SIZE in bytes (64MiB) or of the records (0.1%)
        /// [default: none]
        cache: CachePolicy = CachePolicy::None, text::<CachePolicy>;
    }
}

axes! {
    /// What may change from one search to the next.
    SearchPoint, SearchAxes {
        /// Traversals: beam, pipe [default: beam]
        search: SearchKind = SearchKind::Beam, text::<SearchKind>;
        /// Reads in flight of one search: a number, dynamic, or dynamic:START-MAX [default: 4]
        width: Width = Width::Fixed(4), text::<Width>;
        /// Where searches begin: medoid, memgraph, or memgraph:LIST-POINTS [default: medoid]
        entry: Entry = Entry::Medoid, text::<Entry>;
        /// What of a page is used: record, page, or page:PERCENT [default: record]
        expansion: Expansion = Expansion::Record, text::<Expansion>;
        /// When searches end: exhausted, or bound:PERCENT [default: exhausted]
        stop: Stop = Stop::Exhausted, text::<Stop>;
        /// Candidate list lengths, L; those below k are refused [default: 10 to 120]
        list: u32 = LISTS[0], |given: &str| count(given, 1, LONGEST);
    }
}

fn text<T: std::str::FromStr<Err = String>>(given: &str) -> Result<T, String> {
    given.parse()
}

fn count(given: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = given.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}

impl Copy for SearchPoint {}

impl SearchPoint {
    /// The options of a search at this point.
    pub fn options(self) -> SearchOptions {
        let Self { search: kind, width, entry, expansion, stop, list } = self;
        SearchOptions { list: list as usize, kind, width, entry, expansion, stop, deadline: None }
    }
}

/// Axes with values, and the point that holds for the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    /// Axes of opening.
    pub open: OpenAxes,
    /// Axes of searching.
    pub search: SearchAxes,
    /// Values of the axes of opening that are not swept.
    pub open_base: OpenPoint,
    /// Values of the axes of searching that are not swept.
    pub search_base: SearchPoint,
}

impl Sweep {
    /// Combinations of the open parameters, first axis slowest.
    pub fn open_points(&self) -> Vec<OpenPoint> {
        self.open.points(self.open_base.clone())
    }

    /// Combinations of the search parameters, list length fastest; [`LISTS`] where no list is named.
    pub fn search_points(&self) -> Vec<SearchPoint> {
        let mut axes = self.search.clone();
        if axes.list.is_empty() {
            axes.list = LISTS.to_vec();
        }
        axes.points(self.search_base)
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
            open: OpenAxes { threads: vec![1, 2], ..OpenAxes::default() },
            search: SearchAxes {
                list: vec![10, 20, 40],
                search: vec![SearchKind::Beam, SearchKind::Pipe],
                ..SearchAxes::default()
            },
            search_base: SearchPoint { expansion: Expansion::Page { share_pct: 30 }, ..Default::default() },
            ..Sweep::default()
        };
        assert_eq!(sweep.open_points().len(), 2);
        let points = sweep.search_points();
        assert_eq!(points.len(), 6);
        assert_eq!(
            (points[1].search, points[1].list, points[3].search),
            (SearchKind::Beam, 20, SearchKind::Pipe)
        );
        let options = points[4].options();
        assert_eq!((options.list, options.expansion), (20, Expansion::Page { share_pct: 30 }));
        assert_eq!(Sweep::default().search_points().len(), LISTS.len());
    }

    #[test]
    fn a_point_has_one_value_an_axis() {
        let read = |text: &str| {
            let table: toml::Table = text.parse().unwrap();
            SearchPoint::read(&mut Section::new("f.toml", "search.", &table), SearchPoint::default())
                .map_err(|e| format!("{e:#}"))
        };
        let point = read("width = 8\nentry = \"memgraph\"\nstop = \"bound:10\"").unwrap();
        assert_eq!((point.width, point.entry), (Width::Fixed(8), Entry::MEM_GRAPH));
        assert!(read("width = [4, 8]").unwrap_err().contains("2 values, expected one"));
        assert!(read("expansion = \"pages\"").unwrap_err().contains("`search.expansion`"));
    }
}
