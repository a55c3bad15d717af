//! Training the codebook, and the code of every row.

use super::run::Run;
use super::threads::thread_pool;
use super::{BuildError, CodePlacement};
use gleann_quant::{Codebook, QuantError, training_sample};
use gleann_storage::{AtomicFile, MemberKind, MemberWriter, Packing, load_codebook, write_codebook};
use gleann_vector::Element;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The work file of codes in the order of rows, where they do not become a member as they are.
pub(crate) const CODES: &str = "codes";

impl<T: Element> Run<'_, T> {
    /// Trains on a sample and writes the codebook.
    pub(crate) fn train(&mut self) -> Result<(), BuildError> {
        if let Some(bytes) = self.given_codebook().map(Codebook::to_bytes) {
            return self.copy_codebook(&bytes);
        }
        let rows = self.plan.training_rows as usize;
        self.progress.phase("read training sample", 0);
        let sample = training_sample(&*self.input.rows, rows, self.options.seed)?;
        let params = self.options.quantiser();
        let trained = thread_pool(self.plan.jobs.train_threads)?
            .install(|| Codebook::train(&sample, params, self.progress));
        let codebook = match trained {
            Err(QuantError::Cancelled(_)) => return Err(self.cancelled()),
            trained => trained?,
        };
        drop(sample);
        let entry = write_codebook(self.work.dir(), self.manifest.build_id, &codebook.to_bytes())?;
        self.work.add_member(&entry);
        Ok(())
    }

    /// Encodes all rows, in their order: into the member, or into a work file where that is not its order or where
    /// records hold the codes.
    pub(crate) fn encode(&mut self) -> Result<(), BuildError> {
        let codebook = self.codebook()?;
        let bytes = self.plan.rows * codebook.chunks() as u64;
        if self.options.codes == CodePlacement::Memory && !self.writes_codes_by_place() {
            let (dir, build_id) = (self.work.dir(), self.manifest.build_id);
            let mut writer = MemberWriter::create(dir, MemberKind::Codes, build_id, bytes)?;
            self.encode_rows(&codebook, |codes| Ok(writer.write(codes)?))?;
            let entry = writer.finish()?;
            self.work.add_member(&entry);
            return Ok(());
        }
        let mut file = AtomicFile::create(&self.work.path(CODES))?;
        file.reserve(bytes)?;
        self.encode_rows(&codebook, |codes| Ok(file.write(codes)?))?;
        Ok(file.commit()?)
    }

    fn encode_rows(
        &self,
        codebook: &Codebook,
        mut write: impl FnMut(&[u8]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let pool = thread_pool(self.plan.jobs.encode_threads)?;
        let mut codes = Vec::new();
        self.for_each_piece("encode", |_, piece| {
            codes.resize(piece.len() / codebook.dim() * codebook.chunks(), 0);
            pool.install(|| codebook.encode_rows(piece, &mut codes));
            write(&codes)
        })
    }

    /// Whether codes are a member in another order than that of rows.
    pub(crate) fn writes_codes_by_place(&self) -> bool {
        self.options.codes == CodePlacement::Memory && self.options.packing != Packing::ById
    }

    /// The codebook of this build, as an earlier phase wrote it.
    pub(crate) fn codebook(&self) -> Result<Codebook, BuildError> {
        let mut manifest = self.manifest.clone();
        manifest.members = self.work.state.members();
        let bytes = load_codebook(self.work.dir(), &manifest)?;
        let bytes = bytes.ok_or_else(|| {
            BuildError::damaged(&self.work.path(MemberKind::Codebook.file_name()), "it is not there")
        })?;
        Ok(Codebook::from_bytes(&bytes)?)
    }
}

/// The work file of codes: one a row.
#[derive(Debug)]
pub(crate) struct CodeRows {
    file: File,
    path: PathBuf,
    rows: u32,
    bytes: usize,
}

impl CodeRows {
    /// # Errors
    /// It cannot be opened or has not the length of `rows` codes of `bytes`.
    pub(crate) fn open(path: &Path, rows: u32, bytes: usize) -> Result<Self, BuildError> {
        let file = File::open(path).map_err(BuildError::io("opening", path))?;
        let found = file.metadata().map_err(BuildError::io("asking the length of", path))?.len();
        let expected = u64::from(rows) * bytes as u64;
        if found != expected {
            return Err(BuildError::damaged(path, format!("it has {found} bytes, expected {expected}")));
        }
        Ok(Self { file, path: path.to_owned(), rows, bytes })
    }

    /// Fills `into` with the codes from row `start` on.
    pub(crate) fn read(&self, start: u32, into: &mut [u8]) -> Result<(), BuildError> {
        let read = self.file.read_exact_at(into, u64::from(start) * self.bytes as u64);
        read.map_err(BuildError::io("reading", &self.path))
    }

    /// All codes.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>, BuildError> {
        let mut codes = vec![0; self.rows as usize * self.bytes];
        self.read(0, &mut codes)?;
        Ok(codes)
    }
}
