//! Text from outside, made harmless for a terminal.

/// Names of groups, processes and containers come from anywhere: nothing in them may steer a
/// terminal or turn the direction of what follows. One character stands for one.
#[must_use]
pub fn plain(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if steers(c) { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(plain("a\x1b[31mb\nc\u{202e}d"), "a?[31mb?c?d");
    }
}
