//! Figures as a picture: stacked bars as SVG, and as a line of block characters where there are no pictures.

pub mod png;
pub mod spending;

use std::fmt::Write as _;

/// Series that have a colour of their own; what is smaller is shown together.
pub const SERIES_MAX: usize = 6;

/// The picture's size, in its own units.
const SIZE: (f64, f64) = (720.0, 240.0);

/// Margins: numbers on the left, labels below, nothing above.
const MARGIN: (f64, f64, f64) = (64.0, 22.0, 10.0);

/// Height of a legend below the picture, where there is one.
const LEGEND: f64 = 20.0;

/// Letters of a name in a legend.
const NAME_MAX: usize = 24;

/// Block characters, from an eighth to the whole.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its label, below it.
    pub label: String,
    /// The amount of each series.
    pub parts: Vec<f64>,
}

/// A line across a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Its label.
    pub label: String,
    /// The amount.
    pub at: f64,
}

/// Stacked bars.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// The whole in a sentence, for those who do not see the picture.
    pub said: String,
    /// The names of the series, the largest first.
    pub series: Vec<String>,
    /// The bars, from left to right.
    pub bars: Vec<Bar>,
    /// The lines.
    pub limits: Vec<Limit>,
}

impl Chart {
    /// Makes a chart of amounts by bar and name: the largest names are series, the others one together, called `others`.
    #[must_use]
    pub fn stacked(
        said: String,
        labels: Vec<String>,
        amounts: &[(usize, String, f64)],
        others: &str,
        limits: Vec<Limit>,
    ) -> Self {
        let mut sums: Vec<(&str, f64)> = Vec::new();
        for (_, name, amount) in amounts {
            match sums.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += amount,
                None => sums.push((name, *amount)),
            }
        }
        sums.retain(|(_, sum)| *sum > 0.0);
        sums.sort_by(|(one, of_one), (other, of_other)| of_other.total_cmp(of_one).then(one.cmp(other)));
        let named = if sums.len() > SERIES_MAX { SERIES_MAX } else { sums.len() };
        let mut series: Vec<String> = sums[..named].iter().map(|(name, _)| (*name).to_owned()).collect();
        if sums.len() > named {
            series.push(others.to_owned());
        }
        let mut bars: Vec<Bar> =
            labels.into_iter().map(|label| Bar { label, parts: vec![0.0; series.len()] }).collect();
        for (at, name, amount) in amounts.iter().filter(|(_, _, amount)| *amount > 0.0) {
            let index = series[..named].iter().position(|known| known == name).unwrap_or(named);
            if let Some(part) = bars.get_mut(*at).and_then(|bar| bar.parts.get_mut(index)) {
                *part += amount;
            }
        }
        Self { said, series, bars, limits }
    }

    /// Whether there is nothing to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    fn most(&self) -> f64 {
        let bars = self.bars.iter().map(|bar| bar.parts.iter().sum::<f64>()).fold(0.0, f64::max);
        // A cap far above what is used would press the bars flat; it is named beside the picture all the same.
        let limits = self.limits.iter().map(|limit| limit.at).filter(|at| *at <= bars * 3.0);
        limits.fold(bars, f64::max)
    }

    /// The sums of the bars as block characters.
    #[must_use]
    pub fn blocks(&self) -> String {
        let sums: Vec<f64> = self.bars.iter().map(|bar| bar.parts.iter().sum()).collect();
        let most = sums.iter().copied().fold(0.0, f64::max);
        let block = |sum: &f64| {
            if *sum <= 0.0 {
                return '·';
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of eight blocks"
            )]
            let step = ((sum / most * 8.0).ceil() as usize).clamp(1, BLOCKS.len());
            BLOCKS[step - 1]
        };
        sums.iter().map(block).collect()
    }

    /// The shapes of the picture. `amount` writes a figure of the scale; a legend is shown where there is no page around the
    /// picture.
    fn shapes(&self, with_legend: bool, amount: &dyn Fn(f64) -> String) -> Vec<Shape> {
        let (width, height) = SIZE;
        let (left, below, above) = MARGIN;
        let (inner_width, inner_height) = (width - left, height - below - above);
        let most = nice(self.most());
        let y = |value: f64| above + inner_height * (1.0 - (value / most).clamp(0.0, 1.0));
        let text = |x: f64, y: f64, anchor: Anchor, words: &str| Shape::Text {
            x,
            y,
            anchor,
            words: words.to_owned(),
        };
        let mut shapes = Vec::new();
        for quarter in 0..=2_u32 {
            let value = most * f64::from(quarter) / 2.0;
            shapes.push(Shape::Line { ink: Ink::Grid, x: left, y: y(value), width: inner_width });
            shapes.push(text(left - 6.0, y(value) + 4.0, Anchor::End, &amount(value)));
        }
        let count = self.bars.len().max(1);
        let (step, every) = (inner_width / real(count), count.div_ceil(12));
        for (index, bar) in self.bars.iter().enumerate() {
            let x = left + step * real(index);
            let mut sum = 0.0;
            for (series, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
                let (top, bottom) = (y(sum + part), y(sum));
                sum += part;
                let name = self.series.get(series).map_or("", String::as_str);
                shapes.push(Shape::Bar {
                    series: series.min(SERIES_MAX),
                    place: (x + 1.0, top, (step - 2.0).max(1.0), (bottom - top).max(0.5)),
                    title: format!("{} · {name} · {}", bar.label, amount(*part)),
                });
            }
            if index % every == 0 {
                shapes.push(text(x + step / 2.0, height - 6.0, Anchor::Middle, &bar.label));
            }
        }
        for limit in self.limits.iter().filter(|limit| limit.at <= most) {
            shapes.push(Shape::Line { ink: Ink::Limit, x: left, y: y(limit.at), width: inner_width });
            shapes.push(text(width - 4.0, y(limit.at) - 4.0, Anchor::End, &limit.label));
        }
        if with_legend {
            let mut x = left;
            for (series, name) in self.series.iter().enumerate() {
                let name: String = name.chars().take(NAME_MAX).collect();
                let place = (x, height + 3.0, 10.0, 10.0);
                shapes.push(Shape::Bar { series: series.min(SERIES_MAX), place, title: String::new() });
                shapes.push(text(x + 15.0, height + 12.0, Anchor::Start, &name));
                x += 30.0 + real(name.chars().count()) * 7.0;
                if x > width - 60.0 {
                    break;
                }
            }
        }
        shapes
    }

    /// The picture as SVG, whose colours a stylesheet gives. `amount` writes a figure of the scale.
    #[must_use]
    pub fn svg(&self, amount: impl Fn(f64) -> String) -> String {
        let (width, height) = SIZE;
        let mut svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{}" viewBox="0 0 {width} {height}">"#,
            escaped(&self.said)
        );
        for shape in self.shapes(false, &amount) {
            let _ = match shape {
                Shape::Bar { series, place: (x, y, width, height), title } => write!(
                    svg,
                    r#"<rect class="s{series}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{}</title></rect>"#,
                    escaped(&title)
                ),
                Shape::Line { ink, x, y, width } => {
                    let class = match ink {
                        Ink::Grid => "grid",
                        Ink::Limit => "cap",
                    };
                    write!(svg, r#"<path class="{class}" d="M{x:.1} {y:.1}h{width:.1}"/>"#)
                }
                Shape::Text { x, y, anchor, words } => {
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    write!(
                        svg,
                        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
                        escaped(&words)
                    )
                }
            };
        }
        svg.push_str("</svg>");
        svg
    }
}

/// A number of things as a length.
#[expect(clippy::cast_precision_loss, reason = "there are at most some dozens of bars and letters")]
fn real(count: usize) -> f64 {
    count as f64
}

/// A part of a picture.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// A part of a bar: from left, from above, width and height.
    Bar {
        series: usize,
        place: (f64, f64, f64, f64),
        title: String,
    },
    Line {
        ink: Ink,
        x: f64,
        y: f64,
        width: f64,
    },
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        words: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Grid,
    Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// The end of the scale: the next of 1, 2 and 5 times a power of ten.
fn nice(most: f64) -> f64 {
    if most <= 0.0 || !most.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|end| *end >= most).unwrap_or(most)
}

/// Words as they stand in XML.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no place for them, escaped or not.
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chart(amounts: &[(usize, &str, f64)]) -> Chart {
        let amounts: Vec<(usize, String, f64)> =
            amounts.iter().map(|(at, name, amount)| (*at, (*name).to_owned(), *amount)).collect();
        let labels = ["1", "2", "3"].map(str::to_owned).to_vec();
        Chart::stacked("said".to_owned(), labels, &amounts, "others", Vec::new())
    }

    #[test]
    fn the_largest_are_series_and_the_rest_is_one() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let amounts: Vec<(usize, &str, f64)> =
            (1_u32..).zip(names).map(|(amount, name)| (0, name, f64::from(amount))).collect();
        let chart = chart(&amounts);
        assert_eq!(chart.series, ["h", "g", "f", "e", "d", "c", "others"]);
        assert_eq!(chart.bars[0].parts, [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 3.0]);
    }

    #[test]
    fn blocks_stand_for_the_sums() {
        assert_eq!(chart(&[(0, "a", 1.0), (2, "a", 4.0), (2, "b", 4.0)]).blocks(), "▁·█");
        assert_eq!(chart(&[]).blocks(), "···");
    }

    #[test]
    fn words_of_others_are_no_markup_in_a_picture() {
        let evil = "</title><script>alert(1)</script>\"\u{1b}";
        let svg = chart(&[(0, evil, 1.0)]).svg(|_| evil.to_owned());
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_bar_stays_in_the_picture(amounts in prop::collection::vec((0_usize..3, 0_u8..12, 0.0_f64..1e9), 0..50)) {
            let amounts: Vec<(usize, String, f64)> = amounts.into_iter().map(|(at, name, amount)| (at, name.to_string(), amount)).collect();
            let chart = Chart::stacked(String::new(), vec![String::new(); 3], &amounts, "others", Vec::new());
            let sum: f64 = chart.bars.iter().flat_map(|bar| &bar.parts).sum();
            let wanted: f64 = amounts.iter().map(|(_, _, amount)| amount).sum();
            prop_assert!((sum - wanted).abs() <= wanted * 1e-9);
            prop_assert!(chart.series.len() <= SERIES_MAX + 1);
            prop_assert!(nice(chart.most()) >= chart.most());
            let svg = chart.svg(|amount| amount.to_string());
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }
}
