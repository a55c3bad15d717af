//! An open index, searched from any thread.

use crate::build::BuildOptions;
use crate::error::OpenError;
use crate::executor::{Batch, Job, Single};
use crate::info::IndexInfo;
use crate::live::{Bootstrap, CreateError, create};
use crate::options::OpenOptions;
use crate::shared::Shared;
use gleann_search::{Hit, QueryStats, SearchError, SearchOptions};
use gleann_update::Backend;
use gleann_vector::{Element, ElementType, check_finite};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a waiting batch makes sure that there is somebody to answer it.
const LIVENESS_CHECK: Duration = Duration::from_secs(1);

/// What a search found and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// Unique keys with their exact distances, nearest first: `min(k, n)` of them.
    pub hits: Vec<Hit>,
    /// What it cost.
    pub stats: QueryStats,
}

/// A handle that gives a running search up from another thread.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every search started with this token, at its next step, with [`SearchError::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An open index: a graph on disk, its codes in memory, and an executor per core that searches it.
///
/// Every method may be called from any thread; results come back when the search has ended on one of the
/// cores. Dropping the index waits for the searches that run.
///
/// ```no_run
/// use gleann::{Index, OpenOptions, SearchOptions};
///
/// let index = Index::open("sift.index", OpenOptions::default())?;
/// let query = [0u8; 128];
/// let result = index.search(&query, 10, &SearchOptions::default())?;
/// for hit in &result.hits {
///     println!("{} at {}", hit.key, hit.distance);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Index {
    /// Ends first.
    bootstrap: Option<Bootstrap>,
    shared: Arc<Shared>,
}

impl Index {
    /// Opens the index in a directory that a build has made.
    ///
    /// # Errors
    /// A file is missing or damaged, or the engine asked for cannot start here.
    pub fn open(dir: impl AsRef<Path>, options: OpenOptions) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::open(dir.as_ref(), options)?);
        let bootstrap = Bootstrap::start(&shared)?;
        Ok(Self { bootstrap, shared })
    }

    /// Makes an empty live index in `dir`, a new or empty directory, of vectors of `dim` elements of type `element`. The
    /// options say how its graph will be built; its keys come with the vectors. Until there are enough vectors to train a
    /// codebook on ([`UpdateOptions::bootstrap`](crate::UpdateOptions)) they are in a temporary index in memory, and in the
    /// log, by whatever backend; then a graph is built of them in the background.
    ///
    /// ```
    /// use gleann::{Backend, BuildOptions, ElementType, Index, Insert, OpenOptions, SearchOptions};
    ///
    /// let place = tempfile::tempdir()?;
    /// let dir = place.path().join("words.index");
    /// let options = BuildOptions { degree: 16, build_list: 32, pq_bytes: 2, ..BuildOptions::default() };
    /// Index::create(&dir, ElementType::F32, 2, &options, Backend::Odin)?;
    ///
    /// let index = Index::open(&dir, OpenOptions::default())?;
    /// assert_eq!(index.insert(7, &[0.5f32, 1.0])?, Insert::Inserted);
    /// index.insert(8, &[2.0f32, 1.0])?;
    /// let nearest = index.search(&[0.0f32, 1.0], 5, &SearchOptions::default())?.hits;
    /// assert_eq!(nearest.iter().map(|hit| hit.key).collect::<Vec<_>>(), [7, 8]);
    ///
    /// index.compact()?;
    /// index.delete(7)?;
    /// assert_eq!(index.get::<f32>(7)?, None);
    /// assert_eq!(index.search(&[0.0f32, 1.0], 5, &SearchOptions::default())?.hits[0].key, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The options cannot be, the directory is not empty, or the system refused.
    pub fn create(
        dir: impl AsRef<Path>,
        element: ElementType,
        dim: usize,
        options: &BuildOptions,
        backend: Backend,
    ) -> Result<(), CreateError> {
        create(dir.as_ref(), (element, dim), options, backend)
    }

    /// What the index was and how it is read, as of its opening.
    pub fn info(&self) -> &IndexInfo {
        &self.shared.info
    }

    /// Nanoseconds each core has spent waiting for reads with nothing else to do, since the index was opened or compacted.
    pub fn idle_ns(&self) -> Vec<u64> {
        self.shared.generation().idle_ns()
    }

    /// The `k` nearest neighbours of `query`, blocking. A pool shorter than `k` ([`SearchOptions::list`]) is
    /// made as long as `k`.
    ///
    /// # Errors
    /// The query does not fit the index, a read failed, or the deadline passed.
    pub fn search<T: Element>(
        &self,
        query: &[T],
        k: usize,
        options: &SearchOptions,
    ) -> Result<SearchResult, SearchError> {
        self.search_with(query, k, options, &CancelToken::new())
    }

    /// Like [`Index::search`], and another thread may give it up through `cancel`.
    ///
    /// # Errors
    /// As [`Index::search`], or it was cancelled.
    pub fn search_with<T: Element>(
        &self,
        query: &[T],
        k: usize,
        options: &SearchOptions,
        cancel: &CancelToken,
    ) -> Result<SearchResult, SearchError> {
        let answer = self.submit(query, k, options, cancel)?;
        into_result(answer.recv().unwrap_or(Err(SearchError::Closed)))
    }

    /// Like [`Index::search`] for async callers, on glommio or any other executor. Dropping the future gives
    /// the search up.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub async fn search_async<T: Element>(
        &self,
        query: &[T],
        k: usize,
        options: &SearchOptions,
    ) -> Result<SearchResult, SearchError> {
        let cancel = CancelOnDrop(CancelToken::new());
        let answer = self.submit(query, k, options, &cancel.0)?;
        into_result(answer.recv_async().await.unwrap_or(Err(SearchError::Closed)))
    }

    /// Searches for each of the row-major `queries`, keeping every core busy with as many searches as it
    /// interleaves. Results are in the order of the queries.
    ///
    /// # Errors
    /// Per query, as [`Index::search`]. A query list that is no whole number of rows fails as one query.
    pub fn search_batch<T: Element>(
        &self,
        queries: &[T],
        k: usize,
        options: &SearchOptions,
    ) -> Vec<Result<SearchResult, SearchError>> {
        let dim = self.info().layout.dim();
        let generation = self.shared.generation();
        let executors = match generation.executors_for::<T>(self.info().layout.element()) {
            Ok(executors) => executors,
            Err(error) => return queries.chunks(dim).map(|_| Err(error.clone())).collect(),
        };
        if !queries.len().is_multiple_of(dim) {
            return vec![Err(SearchError::Batch { found: queries.len(), dim })];
        }
        if queries.is_empty() {
            return Vec::new();
        }
        if check_finite(queries, dim, 0).is_err() {
            return self.search_usable(queries, k, options);
        }
        let (batch, finished) = Batch::new(queries.to_vec(), dim, k, *options);
        let batch = Arc::new(batch);
        executors.send_all(|| Job::Batch(batch.clone()));
        while finished.recv_timeout(LIVENESS_CHECK).is_err() && !executors.have_ended() {}
        batch.take_outcomes().into_iter().map(into_result).collect()
    }

    /// A batch of which some rows are not finite: those fail, the others are searched for.
    fn search_usable<T: Element>(
        &self,
        queries: &[T],
        k: usize,
        options: &SearchOptions,
    ) -> Vec<Result<SearchResult, SearchError>> {
        let dim = self.info().layout.dim();
        let checks: Vec<_> =
            (0..).zip(queries.chunks(dim)).map(|(row, query)| check_finite(query, dim, row)).collect();
        let usable: Vec<T> = queries
            .chunks(dim)
            .zip(&checks)
            .filter(|(_, check)| check.is_ok())
            .flat_map(|(query, _)| query.iter().copied())
            .collect();
        let mut results = self.search_batch(&usable, k, options).into_iter();
        checks
            .into_iter()
            .map(|check| match check {
                Ok(()) => results.next().unwrap_or(Err(SearchError::Closed)),
                Err(error) => Err(error.into()),
            })
            .collect()
    }

    fn submit<T: Element>(
        &self,
        query: &[T],
        k: usize,
        options: &SearchOptions,
        cancel: &CancelToken,
    ) -> Result<flume::Receiver<crate::executor::Outcome>, SearchError> {
        let generation = self.shared.generation();
        let executors = generation.executors_for::<T>(self.info().layout.element())?;
        let expected = self.info().layout.dim();
        if query.len() != expected {
            return Err(SearchError::Dimension { found: query.len(), expected });
        }
        check_finite(query, expected, 0)?;
        options.check(k)?;
        let (reply, answer) = flume::bounded(1);
        let cancel = cancel.0.clone();
        executors.send(Job::Single(Single { query: query.to_vec(), k, options: *options, cancel, reply }));
        Ok(answer)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Lets the background see whether there are vectors enough for a graph.
    pub(crate) fn nudge(&self) {
        if let Some(bootstrap) = &self.bootstrap {
            bootstrap.nudge();
        }
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("info", &self.shared.info).finish_non_exhaustive()
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn into_result(outcome: crate::executor::Outcome) -> Result<SearchResult, SearchError> {
    outcome.map(|(hits, stats)| SearchResult { hits, stats })
}
