//! Charts as PNG, for networks that show files. The font is embedded: what the system has does not change a picture.

use ab_glyph::{Font as _, FontRef, PxScale, ScaleFont as _, point};
use tiny_skia::{Color, Paint, Pixmap, PremultipliedColorU8, Rect, Transform};

use super::{Anchor, Chart, Ink, LEGEND, SERIES_MAX, SIZE, Shape};

/// Font of the text in charts: Roboto by Google, Apache License 2.0, reduced to the letters of Western Europe.
const FONT: &[u8] = include_bytes!("roboto.ttf");

/// Number of pixels per unit of the chart's coordinates: sharp on a telephone, and some tens of kB per picture.
const SCALE: f32 = 2.0;

/// Height of the text in a chart, in units of the chart's coordinates.
const LETTERS: f32 = 13.0;

/// Colours of series on a white ground; each has a contrast of at least 3 to it and differs from its neighbours in lightness.
const COLOURS: [(u8, u8, u8); SERIES_MAX + 1] = [
    (0x1f, 0x5f, 0xbf),
    (0xc2, 0x57, 0x0c),
    (0x0f, 0x76, 0x6e),
    (0x8a, 0x3f, 0xfc),
    (0xa1, 0x62, 0x07),
    (0xbe, 0x18, 0x5d),
    (0x6b, 0x72, 0x80),
];

/// Colours as red, green and blue: `GRID` of grid lines, `CAP` of lines that mark a cap, `INK` of text.
const GRID: (u8, u8, u8) = (0xd5, 0xd9, 0xde);
const CAP: (u8, u8, u8) = (0xa3, 0x20, 0x2a);
const INK: (u8, u8, u8) = (0x3f, 0x46, 0x50);

/// Draws a chart as the bytes of a PNG file; `amount` formats the labels of its scale. `None` if drawing fails, which
/// is logged.
#[must_use]
pub fn png(chart: &Chart, amount: impl Fn(f64) -> String) -> Option<Vec<u8>> {
    let font = FontRef::try_from_slice(FONT)
        .inspect_err(|reason| tracing::error!(%reason, "the font of the charts cannot be read"))
        .ok()?;
    let (width, height) = (pixels(SIZE.0), pixels(SIZE.1 + LEGEND));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the size of a picture")]
    let mut picture = Pixmap::new(width as u32, height as u32)?;
    picture.fill(Color::WHITE);
    for shape in chart.shapes(true, &amount) {
        match shape {
            Shape::Bar { series, place, .. } => {
                fill(&mut picture, COLOURS[series.min(SERIES_MAX)], place);
            }
            Shape::Line { ink: Ink::Grid, x, y, width } => {
                fill(&mut picture, GRID, (x, y - 0.5, width, 1.0));
            }
            Shape::Line { ink: Ink::Limit, x, y, width } => {
                let mut dash = 0.0;
                while dash < width {
                    fill(&mut picture, CAP, (x + dash, y - 0.75, 6.0_f64.min(width - dash), 1.5));
                    dash += 10.0;
                }
            }
            Shape::Text { x, y, anchor, words } => write(&mut picture, &font, (x, y), anchor, &words),
        }
    }
    picture.encode_png().inspect_err(|reason| tracing::error!(%reason, "a chart could not be written")).ok()
}

/// Converts a length from units of the chart to pixels.
#[expect(clippy::cast_possible_truncation, reason = "lengths of a picture")]
fn pixels(length: f64) -> f32 {
    length as f32 * SCALE
}

fn fill(picture: &mut Pixmap, (red, green, blue): (u8, u8, u8), (x, y, width, height): (f64, f64, f64, f64)) {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    if let Some(place) = Rect::from_xywh(pixels(x), pixels(y), pixels(width), pixels(height)) {
        picture.fill_rect(place, &paint, Transform::identity(), None);
    }
}

/// Draws text into the picture; `y` is its base line. Letters that the font lacks are left out.
fn write(picture: &mut Pixmap, font: &FontRef<'_>, (x, y): (f64, f64), anchor: Anchor, words: &str) {
    let scale = PxScale::from(LETTERS * SCALE);
    let scaled = font.as_scaled(scale);
    let glyphs: Vec<_> =
        words.chars().map(|letter| scaled.glyph_id(letter)).filter(|glyph| glyph.0 != 0).collect();
    let length: f32 = glyphs.iter().map(|glyph| scaled.h_advance(*glyph)).sum();
    let mut at = pixels(x)
        - match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => length / 2.0,
            Anchor::End => length,
        };
    for glyph in glyphs {
        let placed = glyph.with_scale_and_position(scale, point(at, pixels(y)));
        at += scaled.h_advance(glyph);
        let Some(outline) = font.outline_glyph(placed) else { continue };
        let corner = outline.px_bounds().min;
        outline.draw(|right, down, coverage| blend(picture, (corner.x, corner.y), (right, down), coverage));
    }
}

/// Mixes the text's colour into one pixel; `coverage` is the share of the pixel that the letter covers, from 0 to 1.
fn blend(picture: &mut Pixmap, (left, top): (f32, f32), (right, down): (u32, u32), coverage: f32) {
    #[expect(clippy::cast_possible_truncation, reason = "places in a picture")]
    let (x, y) = (i64::from(left as i32) + i64::from(right), i64::from(top as i32) + i64::from(down));
    let (width, height) = (picture.width(), picture.height());
    let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
    if x >= width || y >= height {
        return;
    }
    let Some(pixel) = picture.pixels_mut().get_mut((y * width + x) as usize) else { return };
    let coverage = coverage.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two bytes")]
    let mixed = |ground: u8, ink: u8| {
        (f32::from(ground) + (f32::from(ink) - f32::from(ground)) * coverage).round() as u8
    };
    let (red, green, blue) =
        (mixed(pixel.red(), INK.0), mixed(pixel.green(), INK.1), mixed(pixel.blue(), INK.2));
    if let Some(inked) = PremultipliedColorU8::from_rgba(red, green, blue, 255) {
        *pixel = inked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_a_png_with_its_colours_and_letters() {
        let labels = vec!["10:00".to_owned(), "11:00".to_owned()];
        let amounts = [(0, "spark".to_owned(), 1.0), (1, "nova".to_owned(), 2.0)];
        let chart = Chart::stacked("said".to_owned(), labels, &amounts, "others", Vec::new());
        let png = png(&chart, |amount| format!("${amount}")).expect("a picture");
        assert!(png.starts_with(b"\x89PNG") && png.len() < 100_000, "{}", png.len());
        let picture = Pixmap::decode_png(&png).expect("it can be read");
        assert_eq!((picture.width(), picture.height()), (1440, 520));
        let has = |red: u8, green: u8, blue: u8| {
            picture
                .pixels()
                .iter()
                .any(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue))
        };
        assert!(has(0x1f, 0x5f, 0xbf) && has(0xc2, 0x57, 0x0c), "both series have their colours");
        // The scale's numbers are letters of the font, in its ink.
        assert!(has(0x3f, 0x46, 0x50), "letters are drawn");
    }
}
