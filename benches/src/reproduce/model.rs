//! The I/O model of the paper (§3.1, §4.1.1) against measurement.
//!
//! Equation 2: pages = O(H / (OR(G)·n_p)) with codes in memory; equation 1 has another factor R̄ without. H is read as
//! the number of vertices a query expands, which is what the traversal counts, not as rounds of reads: a round of a
//! beam reads several pages.
//!
//! Read literally the denominator vanishes in id order, where OR(G) is nearly 0, though a page is still worth the one
//! record it was read for. A page yields that record, and of its n_p − 1 others the OR(G)·(n_p − 1) that are
//! neighbours, if the search uses them at all: PageSearch does, and without it every expansion reads its own page. So
//! the reading that is fitted is
//!
//! ```text
//! pages = a · H · ⌈pages a record⌉ / (1 + φ·OR(G)·(n_p − 1))        φ = 0 without PageSearch
//! ```
//!
//! with a factor a′·R̄ instead of a where codes are off. Both readings are reported, R² on logarithms: pages differ by
//! orders of magnitude between the configurations, and the model is a product.
//!
//! With codes in memory and without PageSearch a search reads one page an expansion whatever the packing, so that H
//! explains pages by definition. The fit `page-search` leaves those rows out, and `a-priori` does without the measured
//! H: it explains pages by L alone, H = h₀ + h₁·L.

use crate::row::Row;

/// Largest φ that is tried, and the step.
const PHI: (f64, f64) = (4.0, 0.01);

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
    expanded: f64,
    degree: f64,
    overlap: f64,
    per_page: f64,
    list: f64,
    page_search: bool,
    codes: bool,
}

impl Observation {
    fn of(row: &Row) -> Option<Self> {
        let place = &row.place;
        let observed = Self {
            pages: row.cost.pages_per_query?,
            expanded: row.cost.expanded_per_query?,
            degree: place.mean_degree?,
            overlap: place.overlap_ratio.unwrap_or(0.0),
            per_page: place.records_per_page?,
            list: f64::from(row.list),
            page_search: row.expansion.starts_with("page"),
            codes: place.codes != "off",
        };
        (observed.pages > 0.0 && observed.expanded > 0.0).then_some(observed)
    }

    /// Numerator: H, or R̄·H where every neighbour must be read to be judged.
    fn work(&self) -> f64 {
        self.expanded * if self.codes { 1.0 } else { self.degree }
    }

    /// Records that a page is worth, over the pages that a record takes.
    fn worth(&self, phi: f64) -> f64 {
        let mates = if self.page_search { (self.per_page - 1.0).max(0.0) } else { 0.0 };
        (1.0 + phi * self.overlap * mates) * self.per_page.min(1.0)
    }
}

/// All fits of the model to `rows`; those with too few points are left out.
pub fn fits(rows: &[Row]) -> Vec<Fit> {
    let all: Vec<Observation> = rows.iter().filter_map(Observation::of).collect();
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

fn literal(all: &[Observation]) -> Option<Fit> {
    let model: Vec<f64> = all.iter().map(|o| o.work() / (o.overlap * o.per_page)).collect();
    let (factors, r_squared) = scaled(all, &model)?;
    let formula = format!("pages = {} · H / (OR·n_p)", factors.show());
    Some(Fit { name: "literal", points: all.len(), formula, r_squared })
}

fn worth_fit(name: &'static str, all: &[Observation]) -> Option<Fit> {
    let at = |phi: f64| {
        let model: Vec<f64> = all.iter().map(|o| o.work() / o.worth(phi)).collect();
        scaled(all, &model).map(|(factors, r_squared)| (phi, factors, r_squared))
    };
    let steps = (PHI.0 / PHI.1) as u32;
    let tried = (0..=steps).filter_map(|step| at(f64::from(step) * PHI.1));
    let (phi, factors, r_squared) = tried.max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.total_cmp(&a.0)))?;
    let formula = format!("pages = {} · H / (1 + {phi:.2}·OR·(n_p − 1))", factors.show());
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
    let at = |phi: f64| {
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
        r_squared(&pairs).filter(|r| r.is_finite()).map(|r| (phi, h0, h1, r))
    };
    let steps = (PHI.0 / PHI.1) as u32;
    let tried = (0..=steps).filter_map(|step| at(f64::from(step) * PHI.1));
    let (phi, h0, h1, r_squared) = tried.max_by(|a, b| a.3.total_cmp(&b.3).then(b.0.total_cmp(&a.0)))?;
    let formula = format!("pages = ({h0:.1} + {h1:.2}·L) / (1 + {phi:.2}·OR·(n_p − 1))");
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

    /// Rows that obey pages = H / (1 + 0.8·OR·(n_p − 1)) with PageSearch, H = 9 + 1.1·L, and 0.3·R̄·H without codes.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for (per_page, overlap) in [(10.0, 0.0002), (10.0, 0.45), (21.0, 0.35), (5.0, 0.5)] {
            for (expansion, codes) in [("record", "memory"), ("page", "memory"), ("record", "off")] {
                for list in [10, 20, 40, 80] {
                    let expanded = 9.0 + 1.1 * f64::from(list);
                    let mates = if expansion == "page" { 0.8 * overlap * (per_page - 1.0) } else { 0.0 };
                    let reads = if codes == "off" { 0.3 * 64.0 } else { 1.0 };
                    rows.push(Row {
                        list,
                        expansion: expansion.to_owned(),
                        cost: Cost {
                            pages_per_query: Some(reads * expanded / (1.0 + mates)),
                            expanded_per_query: Some(expanded),
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
        assert!(of("yield").formula.contains("1.000 or 0.300·R̄") && of("yield").formula.contains("0.80·OR"));
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
