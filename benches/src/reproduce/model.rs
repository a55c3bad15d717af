//! The I/O model of the paper (§3.1, §4.1.1) against measurement.
//!
//! Equation 2: pages = O(H / (OR(G)·n_p)) with codes in memory; equation 1 has another factor R̄ without.
//!
//! **H** is read as what the walk over the logical graph takes: the vertices that a search expands at this L and entry if
//! it uses nothing of a page but the record it was read for. It belongs to graph and search, not to the layout, and is
//! measured where records alone are expanded. It is not the number of vertices that PageSearch expands, which includes
//! page mates that no search would have read a page for, nor of rounds of reads, each of which reads several pages.
//!
//! **OR(G)·n_p** read literally vanishes in id order, where OR(G) is nearly 0, though a page is still worth the one record
//! it was read for. A page yields that record, and of the OR(G)·(n_p − 1) neighbours beside it those that the search would
//! have read a page for later: a share φ with PageSearch, a smaller one φ_r without, where only candidates of the same
//! round share a read. So the reading that is fitted is
//!
//! ```text
//! pages = a · H · (pages a record) / (1 + φ·OR(G)·(n_p − 1))
//! ```
//!
//! with a factor a′·R̄ instead of a where codes are off. Both readings are reported, R² on logarithms: pages differ by
//! orders of magnitude between the configurations, and the model is a product.
//!
//! In id order and without PageSearch a search reads one page an expansion, so that H explains pages by definition. The
//! fit `page-search` leaves rows without PageSearch out; the H of its rows is of another search than its pages.
//! `a-priori` does without the measured H: it explains pages by L alone, H = h₀ + h₁·L.

use crate::row::Row;
use std::collections::BTreeMap;

/// Steps of φ that are tried, from 0 to 1.
const STEPS: u32 = 100;

/// A fit and how well it explains what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// `literal`, `yield`, `equation-2`, `equation-1`, `page-search` or `a-priori`.
    pub name: &'static str,
    /// Number of points.
    pub points: usize,
    /// The formula with its constants.
    pub formula: String,
    /// Share of the variance that it explains.
    pub r_squared: f64,
}

/// A configuration's point, in the terms of the model.
#[derive(Debug, Clone, Copy)]
struct Observation {
    pages: f64,
    hops: f64,
    degree: f64,
    overlap: f64,
    per_page: f64,
    list: f64,
    page_search: bool,
    codes: bool,
}

/// What H depends on: the graph, the entry, how the search judges and goes ahead, and L.
type Walk = (u64, String, bool, String, u32);

fn walk(row: &Row) -> Option<Walk> {
    // The mean degree tells graphs apart: layouts of the same graph have the same to the last digit.
    let degree = row.place.mean_degree?.to_bits();
    let ahead = format!("{} {}", row.search, row.width_name());
    Some((degree, row.entry.clone(), row.place.codes != "off", ahead, row.list))
}

impl Observation {
    /// The observation in a row, if its H was measured.
    fn of(row: &Row, walks: &BTreeMap<Walk, f64>) -> Option<Self> {
        let place = &row.place;
        let observed = Self {
            pages: row.cost.pages_per_query?,
            hops: *walks.get(&walk(row)?)?,
            degree: place.mean_degree?,
            overlap: place.overlap_ratio.unwrap_or(0.0),
            per_page: place.records_per_page?,
            list: f64::from(row.list),
            page_search: row.expansion.starts_with("page"),
            codes: place.codes != "off",
        };
        (observed.pages > 0.0 && observed.hops > 0.0).then_some(observed)
    }

    /// Numerator: H, or R̄·H where every neighbour must be read to be judged.
    fn work(&self) -> f64 {
        self.hops * if self.codes { 1.0 } else { self.degree }
    }

    /// Records that a page is worth, over the pages that a record takes.
    fn worth(&self, (with, without): (f64, f64)) -> f64 {
        let phi = if self.page_search { with } else { without };
        (1.0 + phi * self.overlap * (self.per_page - 1.0).max(0.0)) * self.per_page.min(1.0)
    }
}

/// All fits of the model to `rows`; those with too few points are left out, and rows whose H was not measured.
pub fn fits(rows: &[Row]) -> Vec<Fit> {
    let walked = rows.iter().filter(|row| row.expansion == "record");
    let walks: BTreeMap<Walk, f64> =
        walked.filter_map(|row| Some((walk(row)?, row.cost.expanded_per_query?))).collect();
    let all: Vec<Observation> = rows.iter().filter_map(|row| Observation::of(row, &walks)).collect();
    let some = |keep: fn(&Observation) -> bool| all.iter().copied().filter(keep).collect::<Vec<_>>();
    let on = some(|o| o.codes);
    let fits = [
        literal(&some(|o| o.overlap > 0.0)),
        worth_fit("yield", &all),
        worth_fit("equation-2", &on),
        worth_fit("equation-1", &some(|o| !o.codes)),
        worth_fit("page-search", &some(|o| o.codes && o.page_search)),
        a_priori(&on),
    ];
    fits.into_iter().flatten().collect()
}

/// Every pair (φ, φ_r), φ_r not above φ; φ_r is 0 where nothing tells it.
fn phis(all: &[Observation]) -> impl Iterator<Item = (f64, f64)> {
    let record = all.iter().any(|o| !o.page_search);
    let steps = move |with: u32| if record { 0..=with } else { 0..=0 };
    let scale = |step: u32| f64::from(step) / f64::from(STEPS);
    (0..=STEPS).flat_map(move |with| steps(with).map(move |without| (scale(with), scale(without))))
}

/// The best of what was tried by R²; the first of equals, which has the smallest φ.
fn best<T>(tried: impl Iterator<Item = (T, f64)>) -> Option<(T, f64)> {
    tried.filter(|(_, r)| r.is_finite()).reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn show_worth((with, without): (f64, f64)) -> String {
    format!("(1 + φ·OR·(n_p − 1)), φ = {with:.2} with PageSearch, {without:.2} without")
}

fn literal(all: &[Observation]) -> Option<Fit> {
    let model: Vec<f64> = all.iter().map(|o| o.work() / (o.overlap * o.per_page)).collect();
    let (factors, r_squared) = scaled(all, &model)?;
    let formula = format!("pages = {} · H / (OR·n_p)", factors.show());
    Some(Fit { name: "literal", points: all.len(), formula, r_squared })
}

fn worth_fit(name: &'static str, all: &[Observation]) -> Option<Fit> {
    let tried = phis(all).filter_map(|phi| {
        let model: Vec<f64> = all.iter().map(|o| o.work() / o.worth(phi)).collect();
        scaled(all, &model).map(|(factors, r_squared)| ((phi, factors), r_squared))
    });
    let ((phi, factors), r_squared) = best(tried)?;
    let formula = format!("pages = {} · H / {}", factors.show(), show_worth(phi));
    Some(Fit { name, points: all.len(), formula, r_squared })
}

/// The factors a (codes) and a′ (no codes).
struct Factors {
    with: Option<f64>,
    without: Option<f64>,
}

impl Factors {
    fn show(&self) -> String {
        let with = self.with.map(|a| format!("{a:.3}"));
        let without = self.without.map(|a| format!("{a:.3}·R̄ (no codes)"));
        with.into_iter().chain(without).collect::<Vec<_>>().join(" or ")
    }
}

/// The best factors for `model`, in logarithms, and R².
fn scaled(all: &[Observation], model: &[f64]) -> Option<(Factors, f64)> {
    if all.len() < 3 {
        return None;
    }
    let factor = |codes: bool| {
        let of_kind = all.iter().zip(model).filter(|(o, _)| o.codes == codes);
        let logs: Vec<f64> = of_kind.map(|(o, model)| (o.pages / model).ln()).collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    let factors = Factors { with: factor(true), without: factor(false) };
    let pairs: Vec<(f64, f64)> = all
        .iter()
        .zip(model)
        .map(|(o, model)| {
            let factor = if o.codes { factors.with } else { factors.without };
            (o.pages.ln(), (model * factor.unwrap_or(1.0)).ln())
        })
        .collect();
    Some((factors, r_squared(&pairs)?))
}

/// Pages from L, OR(G) and n_p alone.
fn a_priori(all: &[Observation]) -> Option<Fit> {
    let tried = phis(all).filter_map(|phi| {
        let [mut aa, mut ab, mut bb, mut ay, mut by] = [0.0; 5];
        for o in all {
            let (a, b) = (1.0 / o.worth(phi), o.list / o.worth(phi));
            aa += a * a;
            ab += a * b;
            bb += b * b;
            ay += a * o.pages;
            by += b * o.pages;
        }
        let determinant = aa * bb - ab * ab;
        let (h0, h1) = ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant);
        let pairs: Vec<(f64, f64)> =
            all.iter().map(|o| (o.pages, (h0 + h1 * o.list) / o.worth(phi))).collect();
        r_squared(&pairs).map(|r| ((phi, h0, h1), r))
    });
    let ((phi, h0, h1), r_squared) = best(tried)?;
    let formula = format!("pages = ({h0:.1} + {h1:.2}·L) / {}", show_worth(phi));
    Some(Fit { name: "a-priori", points: all.len(), formula, r_squared })
}

/// Share of the variance of the measured that the predicted explains; `None` of fewer than three points.
fn r_squared(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let mean = pairs.iter().map(|pair| pair.0).sum::<f64>() / pairs.len() as f64;
    let total: f64 = pairs.iter().map(|pair| (pair.0 - mean).powi(2)).sum();
    let rest: f64 = pairs.iter().map(|pair| (pair.0 - pair.1).powi(2)).sum();
    (total > 0.0).then(|| 1.0 - rest / total)
}

/// Pearson's correlation; `None` of fewer than three points, or where one side does not vary.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    if pairs.len() < 3 || pairs.iter().any(|pair| !pair.0.is_finite() || !pair.1.is_finite()) {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let [mut aa, mut bb, mut ab] = [0.0; 3];
    for (x, y) in pairs {
        aa += (x - a).powi(2);
        bb += (y - b).powi(2);
        ab += (x - a) * (y - b);
    }
    (aa > 0.0 && bb > 0.0).then(|| ab / (aa * bb).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cost, Place};

    /// Rows that obey pages = H / (1 + φ·OR·(n_p − 1)), φ = 0.2 with PageSearch and 0.05 without, H = 9 + 1.1·L, and
    /// 0.3·R̄·H without codes.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for (per_page, overlap) in [(10.0, 0.0002), (10.0, 0.45), (21.0, 0.35), (5.0, 0.5)] {
            for (expansion, codes) in [("record", "memory"), ("page", "memory"), ("record", "off")] {
                for list in [10, 20, 40, 80] {
                    let expanded = 9.0 + 1.1 * f64::from(list);
                    let phi = if expansion == "page" { 0.2 } else { 0.05 };
                    let mates = phi * overlap * (per_page - 1.0);
                    // PageSearch expands more than its walk takes.
                    let extra = if expansion == "page" { 2.0 } else { 1.0 };
                    let reads = if codes == "off" { 0.3 * 64.0 } else { 1.0 };
                    rows.push(Row {
                        list,
                        expansion: expansion.to_owned(),
                        cost: Cost {
                            pages_per_query: Some(reads * expanded / (1.0 + mates)),
                            expanded_per_query: Some(extra * expanded),
                            ..Cost::default()
                        },
                        place: Place {
                            codes: codes.to_owned(),
                            records_per_page: Some(per_page),
                            overlap_ratio: Some(overlap),
                            mean_degree: Some(64.0),
                            ..Place::default()
                        },
                        ..Row::default()
                    });
                }
            }
        }
        rows
    }

    #[test]
    fn a_law_that_holds_is_found() {
        let fits = fits(&rows());
        let of = |name: &str| fits.iter().find(|fit| fit.name == name).unwrap();
        for name in ["yield", "equation-2", "equation-1", "page-search", "a-priori"] {
            assert!(of(name).r_squared > 0.9999, "{:?}", of(name));
        }
        let found = &of("yield").formula;
        assert!(
            found.contains("1.000 or 0.300·R̄") && found.contains("φ = 0.20 with PageSearch, 0.05 without")
        );
        assert!(of("a-priori").formula.contains("(9.0 + 1.10·L)"), "{}", of("a-priori").formula);
        assert!(of("literal").r_squared < 0.5, "{:?}", of("literal"));
        assert_eq!(of("yield").points, 48);
        assert!(super::fits(&[]).is_empty());
    }

    #[test]
    fn noise_is_not_explained() {
        let mut noisy = rows();
        for (at, row) in noisy.iter_mut().enumerate() {
            let factor = if at % 3 == 0 { 9.0 } else { 0.4 };
            row.cost.pages_per_query = row.cost.pages_per_query.map(|pages| pages * factor);
        }
        let fits = fits(&noisy);
        let fit = fits.iter().find(|fit| fit.name == "equation-2").unwrap();
        assert!(fit.r_squared < 0.5, "{fit:?}");
    }

    #[test]
    fn correlation_has_a_sign() {
        let up = [(1.0, 2.0), (2.0, 4.0), (3.0, 6.5)];
        assert!(correlation(&up).unwrap() > 0.99);
        assert!(correlation(&up.map(|(x, y)| (x, -y))).unwrap() < -0.99);
        assert_eq!(correlation(&up[..2]), None);
        assert_eq!(correlation(&[(1.0, 1.0); 5]), None);
    }
}
