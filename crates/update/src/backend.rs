//! The backend axis: how inserts reach the graph.

/// How inserts reach the graph. Chosen when the index is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Backend {
    /// Buffered: into a temporary index in memory that every search looks at too; merged into the graph many at a time
    /// (FreshDiskANN).
    Fresh = 1,
    /// Direct: each is linked into the graph at once (OdinANN).
    Odin = 2,
}

impl Backend {
    /// The backend of a number in a file.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        [Backend::Fresh, Backend::Odin].into_iter().find(|&backend| backend as u32 == number)
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Backend::Fresh => "fresh",
            Backend::Odin => "odin",
        })
    }
}

impl std::str::FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fresh" => Ok(Backend::Fresh),
            "odin" => Ok(Backend::Odin),
            _ => Err(format!("backend `{text}` is not known; expected `fresh` or `odin`")),
        }
    }
}
