//! Scales and ticks.

/// Maps values to positions, with round ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Where a line is drawn and a label stands.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// A linear axis that covers the values, with about `wanted` ticks; its ends are ticks.
    pub fn linear(values: impl Iterator<Item = f64>, wanted: usize) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let span = if high > low { high - low } else { high.abs().max(1.0) * 0.1 };
        let step = round_step(span / wanted as f64);
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil().max(first + 1.0);
        let ticks = (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect();
        Self { low: first * step, high: last * step, log: false, ticks }
    }

    /// A logarithmic axis over positive values, with ticks at 1, 2 and 5 times the powers of ten.
    pub fn log(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values.filter(|&value| value > 0.0)).unwrap_or((1.0, 10.0));
        // A little air, so that no point lies on the frame.
        let (low, high) = (low / 1.1, high * 1.1);
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let within = |tick: &f64| (low..=high).contains(tick);
        let ticks_of = |digits: &[f64]| -> Vec<f64> {
            decades
                .clone()
                .flat_map(|d| digits.iter().map(move |m| m * 10f64.powi(d)))
                .filter(within)
                .collect()
        };
        let coarse = ticks_of(&[1.0, 2.0, 5.0]);
        let ticks = match coarse.len() {
            0..=2 => ticks_of(&[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
            3..=9 => coarse,
            _ => ticks_of(&[1.0]),
        };
        Self { low, high, log: true, ticks }
    }

    /// Position of `value` between 0 (low end) and 1.
    pub fn position(&self, value: f64) -> f64 {
        if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// The 1, 2 or 5 times a power of ten at or above `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let digit = raw / power;
    power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|&step| digit <= step + 1e-9).unwrap_or(10.0)
}

/// A number as people write it: `12 300`, `0.95`, `1.5`.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m >= 100.0 || m == 0.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    group_thousands(text)
}

fn group_thousands(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    if digits.len() < 5 {
        return text.to_owned();
    }
    let mut grouped = whole[..whole.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let axis = Axis::linear([0.812, 0.995].into_iter(), 10);
        assert_eq!(axis.ticks.len(), 11);
        assert!((axis.ticks[0] - 0.8).abs() < 1e-12 && (axis.ticks[10] - 1.0).abs() < 1e-12);
        assert!((axis.position(0.9) - 0.5).abs() < 1e-9);

        let axis = Axis::log([480.0, 5200.0].into_iter());
        assert_eq!(axis.ticks, [500.0, 1000.0, 2000.0, 5000.0]);
        assert!(axis.position(480.0) > 0.0 && axis.position(5200.0) < 1.0);
        let axis = Axis::log([1000.0, 1100.0].into_iter());
        assert!(!axis.ticks.is_empty());
        for axis in [
            Axis::linear([3.0].into_iter(), 5),
            Axis::log([3.0].into_iter()),
            Axis::linear([].into_iter(), 5),
        ] {
            assert!(!axis.ticks.is_empty() && axis.position(3.0).is_finite(), "{axis:?}");
        }
    }

    #[test]
    fn numbers_read_well() {
        for (value, text) in [
            (0.0, "0"),
            (0.95, "0.95"),
            (1.5, "1.5"),
            (12.34, "12.3"),
            (640.0, "640"),
            (1908.4, "1908"),
            (12_300.0, "12\u{2009}300"),
            (-1_234_567.0, "-1\u{2009}234\u{2009}567"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
