//! Numbers and names as they are shown.

use unthrottle_report::text::{cores, percent};

#[test]
fn cores_are_shown_without_needless_digits() {
    for (value, shown) in [
        (0.0, "0 cores"),
        (0.001, "0.001 cores"),
        (0.5, "0.5 cores"),
        (1.0, "1 core"),
        (1.25, "1.25 cores"),
        (2.18803, "2.188 cores"),
        (64.0, "64 cores"),
        (100.0, "100 cores"),
    ] {
        assert_eq!(cores(value), shown);
    }
}

#[test]
fn percents_below_one_have_two_digits() {
    for (ratio, shown) in [
        (0.0, "0.0 %"),
        (0.0038, "0.38 %"),
        (0.00001, "0.00 %"),
        (0.122, "12.2 %"),
        (1.0, "100.0 %"),
        (1.5, "150.0 %"),
    ] {
        assert_eq!(percent(ratio), shown);
    }
}
