//! CPU lists as the kernel writes them: `0-3,8,10-11`.

/// Number of CPUs in a list such as `0-3,8`; `None` if it is not a list.
///
/// An empty list is zero CPUs: `cpuset.cpus` of a group that never set it.
#[must_use]
pub fn count_cpus(text: &str) -> Option<u32> {
    let mut count = 0_u32;
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        let width = last.checked_sub(first)?.checked_add(1)?;
        count = count.checked_add(width)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::count_cpus;

    #[test]
    fn lists() {
        for (text, count) in [
            ("0-1\n", Some(2)),
            ("0-3,8,10-11", Some(7)),
            ("1,4,8", Some(3)),
            ("", Some(0)),
            ("0-", None),
            ("3-1", None),
            ("0-4294967295", None),
            ("a", None),
        ] {
            assert_eq!(count_cpus(text), count, "{text}");
        }
    }
}
