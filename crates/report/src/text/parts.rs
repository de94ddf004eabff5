//! Small parts of texts.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Widest line.
pub const WIDTH: usize = 100;

/// Text from outside (names, paths) without what would steer a terminal.
#[must_use]
pub fn clean(text: &str) -> String {
    let bad = |c: char| {
        // Control characters, and those that turn the direction of what follows.
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if bad(c) { '?' } else { c }).collect()
}

/// At most `width` characters, the middle left out: both ends of a path tell most.
#[must_use]
pub fn shorten(text: &str, width: usize) -> String {
    let chars: Vec<char> = clean(text).chars().collect();
    if chars.len() <= width || width < 5 {
        return chars.into_iter().collect();
    }
    let tail = (width - 3) / 2;
    let head = width - 3 - tail;
    let head: String = chars[..head].iter().collect();
    let tail: String = chars[chars.len() - tail..].iter().collect();
    format!("{head}...{tail}")
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

/// A table without borders; the first column is left-aligned, the others right.
#[must_use]
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for row in rows {
        table.add_row(row.clone());
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((if index == 0 { 2 } else { 0 }, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(clean("a\x1b[31mb\nc\u{202e}d"), "a?[31mb?c?d");
    }

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
