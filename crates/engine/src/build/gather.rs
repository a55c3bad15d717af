//! Rows that lie scattered in a file are read in the order they lie in, near ones together.

/// Bytes between two wanted rows that are read over: less than what a read of its own costs.
const GAP: usize = 32 << 10;
/// Most bytes of one read.
const READ: usize = 1 << 20;

/// Rows wanted in some order.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// Row and where it is wanted, in the order of rows.
    sorted: Vec<(u32, u32)>,
}

impl Gather {
    /// Wants `rows`, each at its position.
    pub(crate) fn set(&mut self, rows: impl Iterator<Item = u32>) {
        self.sorted.clear();
        self.sorted.extend(rows.zip(0..));
        self.sorted.sort_unstable();
    }

    /// Calls `read` with the first row of a range, its number of rows, and the wanted among them with their positions,
    /// until all have had their turn. A row takes `row_bytes`.
    pub(crate) fn for_each_range<E>(
        &self,
        row_bytes: usize,
        mut read: impl FnMut(u32, u32, &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (gap, most) = ((GAP / row_bytes).max(1) as u32, (READ / row_bytes).max(1) as u32);
        let mut rest = &self.sorted[..];
        while let Some(&(first, _)) = rest.first() {
            let mut taken = 1;
            while let Some(&(row, _)) = rest.get(taken) {
                if row - rest[taken - 1].0 > gap || row - first >= most {
                    break;
                }
                taken += 1;
            }
            let (range, others) = rest.split_at(taken);
            read(first, range[taken - 1].0 - first + 1, range)?;
            rest = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn every_row_comes_once_from_a_range_that_holds_it() {
        for (row_bytes, step) in [(1, 40_000), (100, 7), (100, 331), (40_000, 1), (3 << 20, 2)] {
            let rows: Vec<u32> = (0..500u32).map(|index| index * 277 % 500 * step).collect();
            let mut gather = Gather::default();
            gather.set(rows.iter().copied());
            let mut found = vec![None; rows.len()];
            let mut reads = 0;
            gather
                .for_each_range(row_bytes, |first, count, wanted| {
                    assert!(count as usize * row_bytes <= READ || count == 1);
                    for &(row, position) in wanted {
                        assert!((first..first + count).contains(&row));
                        assert_eq!(found[position as usize].replace(row), None);
                    }
                    reads += 1;
                    Ok::<(), Infallible>(())
                })
                .unwrap();
            assert!(found.iter().zip(&rows).all(|(found, row)| *found == Some(*row)));
            let apart = step > 1 && row_bytes * step as usize > GAP;
            assert_eq!(reads == 500, apart, "{reads} reads of rows of {row_bytes} bytes, {step} apart");
        }
    }
}
