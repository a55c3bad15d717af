//! Two-dimensional data sets of an HDF5 file, read in rows.

use anyhow::{Context, Result, bail};
use gleann_vector::ElementType;
use hdf5_reader::{Datatype, H5Type, Hdf5File, SliceInfo, SliceInfoElem};
use std::path::Path;

/// An open HDF5 file.
pub struct Tables {
    file: Hdf5File,
    name: String,
}

/// A data set of vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name in the file.
    pub name: &'static str,
    /// Vectors.
    pub rows: u64,
    /// Elements a vector.
    pub columns: u64,
    /// The element type it becomes: f64 becomes f32.
    pub element: ElementType,
    /// The element type it has.
    pub stored: Stored,
}

/// Element types of a file that can become ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// Unsigned bytes.
    U8,
    /// Signed bytes.
    I8,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
}

impl Tables {
    /// # Errors
    /// It cannot be read or is no HDF5 file.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = Hdf5File::open(path).with_context(|| format!("{name}: cannot be read as HDF5"))?;
        Ok(Self { file, name })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A text attribute of the file.
    pub fn text(&self, name: &str) -> Option<String> {
        self.file.root_group().ok()?.attribute(name).ok()?.read_string().ok()
    }

    /// A number attribute of the file.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.file.root_group().ok()?.attribute(name).ok()?.read_as_f64().ok()
    }

    /// Whether there is a data set of this name.
    pub fn has(&self, name: &str) -> bool {
        self.file.dataset(name).is_ok()
    }

    /// A data set of vectors.
    ///
    /// # Errors
    /// It is missing, has not two dimensions, or elements that cannot become ours.
    pub fn vectors(&self, name: &'static str) -> Result<Table> {
        let table = self.table(name)?;
        match table.stored {
            Stored::I32 | Stored::I64 => {
                bail!("{}: `{name}` holds integers of several bytes, not vectors", self.name)
            }
            _ => Ok(table),
        }
    }

    /// A data set of numbers.
    ///
    /// # Errors
    /// It is missing, has not two dimensions, or elements of another kind.
    pub fn table(&self, name: &'static str) -> Result<Table> {
        let set = self
            .file
            .dataset(name)
            .with_context(|| format!("{}: data set `{name}` is missing", self.name))?;
        let [rows, columns] = *set.shape() else {
            bail!("{}: `{name}` has the shape {:?}; expected rows × columns", self.name, set.shape());
        };
        let (stored, element) = match set.dtype() {
            Datatype::FloatingPoint { size: 4, .. } => (Stored::F32, ElementType::F32),
            Datatype::FloatingPoint { size: 8, .. } => (Stored::F64, ElementType::F32),
            Datatype::FixedPoint { size: 1, signed: false, .. } => (Stored::U8, ElementType::U8),
            Datatype::FixedPoint { size: 1, signed: true, .. } => (Stored::I8, ElementType::I8),
            Datatype::FixedPoint { size: 4, signed: true, .. } => (Stored::I32, ElementType::F32),
            Datatype::FixedPoint { size: 8, signed: true, .. } => (Stored::I64, ElementType::F32),
            other => bail!(
                "{}: `{name}` holds {other:?}; expected f32, f64, u8 or i8 for vectors, i32 or i64 for neighbours",
                self.name
            ),
        };
        Ok(Table { name, rows, columns, element, stored })
    }

    /// The rows `start .. start + count`, row-major.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn rows<T: H5Type>(&self, table: &Table, start: u64, count: u64) -> Result<Vec<T>> {
        let end = start + count;
        let failed = || format!("{}: reading rows {start}..{end} of `{}`", self.name, table.name);
        let set = self.file.dataset(table.name).with_context(failed)?;
        let selections = vec![
            SliceInfoElem::Slice { start, end, step: 1 },
            SliceInfoElem::Slice { start: 0, end: table.columns, step: 1 },
        ];
        let values = set.read_slice::<T>(&SliceInfo { selections }).with_context(failed)?;
        let values: Vec<T> = values.iter().cloned().collect();
        if values.len() as u64 != count * table.columns {
            bail!("{}: {} values came, expected {}", failed(), values.len(), count * table.columns);
        }
        Ok(values)
    }
}
