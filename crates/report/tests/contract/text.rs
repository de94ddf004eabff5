//! Text for a terminal: no line wider than 100 columns, and nothing in it that steers.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use textwrap::core::display_width;
use unthrottle_analysis::explain;
use unthrottle_analysis::rank::rank;
use unthrottle_report::{contract, text};

use crate::any_recording::{capabilities, config, name, recording};

/// What is wrong with a text; empty if nothing is.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for line in text.lines() {
        let width = display_width(line);
        if width > 100 {
            faults.push(format!("{width} columns: {line}"));
        }
        if line.ends_with(' ') {
            faults.push(format!("blank at the end: {line:?}"));
        }
    }
    let steers = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    faults.extend(text.chars().filter(|c| steers(*c)).map(|c| format!("{c:?} in the text")));
    faults
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn explain_fits_a_terminal_for_any_recording(recording in recording()) {
        let text = text::explain(&contract::explain(&explain(&recording)));
        prop_assert_eq!(faults(&text), Vec::<String>::new(), "{}", text);
        for heading in ["HARM", "EVIDENCE", "CHECKED", "NOT MEASURED"] {
            prop_assert!(text.contains(&format!("\n{heading}")), "{} is missing", heading);
        }
    }

    #[test]
    fn top_fits_a_terminal_for_any_recording(recording in recording(), called in name()) {
        let ranked = rank(&recording.rows);
        let named = |_: &str| Some((called.clone(), "docker".to_owned()));
        let text = text::top(&contract::top(&ranked, (7, 1), 2.0, &recording.meta.host, named));
        prop_assert_eq!(faults(&text), Vec::<String>::new(), "{}", text);
    }

    #[test]
    fn doctor_fits_a_terminal_for_any_machine(machine in capabilities()) {
        let text = text::doctor(&contract::doctor(&machine));
        prop_assert_eq!(faults(&text), Vec::<String>::new(), "{}", text);
    }

    #[test]
    fn cleaned_text_does_not_steer(name in name()) {
        let clean = text::clean(&name);
        prop_assert_eq!(faults(clean.trim_end()).iter().filter(|f| f.ends_with("text")).count(), 0);
        prop_assert_eq!(clean.chars().count(), name.chars().count(), "each character is one");
    }
}

#[test]
fn harmless_text_stays_as_it_is() {
    for name in ["/kubepods.slice/x", "naïve-名前 🚀", "a b:c\\x2d", "שלום"] {
        assert_eq!(text::clean(name), name);
    }
}
