//! Training the codebook, and the code of every row.

use super::BuildError;
use super::run::Run;
use gleann_quant::{Codebook, QuantError, training_sample};
use gleann_storage::{MemberKind, MemberWriter, load_codebook, write_codebook};
use gleann_vector::Element;

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
        let trained = self
            .pool(self.plan.jobs.train_threads)?
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

    /// Encodes all rows, in their order.
    pub(crate) fn encode(&mut self) -> Result<(), BuildError> {
        let codebook = self.codebook()?;
        let (rows, code) = (self.plan.rows, codebook.chunks());
        let dir = self.work.dir();
        let mut writer =
            MemberWriter::create(dir, MemberKind::Codes, self.manifest.build_id, rows * code as u64)?;
        let pool = self.pool(self.plan.jobs.encode_threads)?;
        let mut codes = Vec::new();
        self.for_each_piece("encode", |_, piece| {
            codes.resize(piece.len() / codebook.dim() * code, 0);
            pool.install(|| codebook.encode_rows(piece, &mut codes));
            Ok(writer.write(&codes)?)
        })?;
        let entry = writer.finish()?;
        self.work.add_member(&entry);
        Ok(())
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
