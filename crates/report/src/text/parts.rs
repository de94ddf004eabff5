//! Small parts of texts.

pub use unthrottle_analysis::model::plain as clean;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use textwrap::core::display_width;

/// Widest line.
pub const WIDTH: usize = 100;

/// Blanks between the columns of a table.
const GAP: usize = 2;

/// At most `width` columns, the middle left out: both ends of a path tell most.
#[must_use]
pub fn shorten(text: &str, width: usize) -> String {
    let text = clean(text);
    if display_width(&text) <= width || width < 5 {
        return text;
    }
    let tail = (width - 3) / 2;
    let head = fitting(text.chars(), width - 3 - tail);
    let tail: String = fitting(text.chars().rev(), tail).chars().rev().collect();
    format!("{head}...{tail}")
}

/// As many of the first characters as fit into `width` columns: some take two, some none.
fn fitting(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    chars
        .take_while(|c| {
            let rest = left.checked_sub(display_width(c.encode_utf8(&mut [0; 4])));
            left = rest.unwrap_or(0);
            rest.is_some()
        })
        .collect()
}

/// `0.5 cores`, `1 core`.
#[must_use]
pub fn cores(value: f64) -> String {
    let digits = if value < 0.1 { 4 } else { 3 };
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text.is_empty() || text == "-0" { "0" } else { text };
    if text == "1" { "1 core".to_owned() } else { format!("{text} cores") }
}

/// `12.2 %`; two digits below 1 %.
#[must_use]
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent != 0.0 && percent.abs() < 1.0 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// `1 thread`, `5 threads`.
#[must_use]
pub fn many(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `138.6 ms`, or a dash where there is none.
#[must_use]
pub fn ms(value: Option<f64>) -> String {
    value.map_or_else(dash, |ms| format!("{ms:.1} ms"))
}

/// What stands for "not there".
#[must_use]
pub fn dash() -> String {
    "-".to_owned()
}

/// Wraps a paragraph; the first line begins with `first`, the others are indented alike.
#[must_use]
pub fn paragraph(first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .break_words(true);
    let mut lines = textwrap::fill(&clean(text), options);
    lines.push('\n');
    lines
}

/// A table without borders; the first column is left-aligned and gives way to the others, which
/// are right-aligned.
#[must_use]
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let widest = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(String::as_str);
        cells.chain(header.get(index).copied()).map(display_width).max().unwrap_or(0)
    };
    let others: usize = (1..header.len()).map(|index| widest(index) + GAP).sum();
    // Never narrower than what tells one group from another.
    let first = WIDTH.saturating_sub(others + 2 * GAP).max(16);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for row in rows {
        let mut row = row.clone();
        if let Some(name) = row.first_mut() {
            *name = shorten(name, first);
        }
        table.add_row(row);
    }
    let gap = u16::try_from(GAP).unwrap_or(2);
    for (index, column) in table.column_iter_mut().enumerate() {
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((if index == 0 { gap } else { 0 }, gap));
    }
    // Numbers that no kernel counts to may still be too wide.
    table.lines().map(|line| shorten(line.trim_end(), WIDTH) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(cores(0.5), "0.5 cores");
        assert_eq!(cores(1.0), "1 core");
        assert_eq!(cores(0.0), "0 cores");
        assert_eq!(cores(10.0), "10 cores");
        assert_eq!(cores(0.0123), "0.0123 cores");
        assert_eq!(percent(0.1224), "12.2 %");
        assert_eq!(percent(0.0038), "0.38 %");
        assert_eq!(percent(0.0), "0.0 %");
    }

    #[test]
    fn long_paths_keep_both_ends() {
        assert_eq!(shorten("/docker/0123456789abcdef", 16), "/docker...abcdef");
        assert_eq!(shorten("/a", 16), "/a");
    }
}
