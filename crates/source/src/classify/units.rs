//! Units of systemd: where they stand in a path, and how their names are written.

use super::{Found, Runtime};

/// The unit that a path leads to.
pub(super) struct Unit<'a> {
    /// As systemd writes it.
    pub(super) name: &'a str,
    /// How many parts of the path end with it.
    length: usize,
    /// The uid of the manager it belongs to; none for the system's.
    user: Option<&'a str>,
}

/// The unit that the group with these parts belongs to.
///
/// systemd's own rule: slices come first, and the first part that is another unit is the one; what
/// follows is the unit's own business. A user's manager is such a unit, with units of its own.
pub(super) fn unit_of<'a>(parts: &[&'a str]) -> Option<Unit<'a>> {
    let system = below_slices(parts)?;
    let user = system.name.strip_prefix("user@").and_then(|name| name.strip_suffix(".service"));
    let (Some(user), below) = (user, &parts[system.length..]) else { return Some(system) };
    match below_slices(below) {
        // That is where the manager keeps itself.
        Some(unit) if unit.name != "init.scope" => {
            Some(Unit { length: system.length + unit.length, user: Some(user), ..unit })
        }
        _ => Some(system),
    }
}

fn below_slices<'a>(parts: &[&'a str]) -> Option<Unit<'a>> {
    let mut last_slice = None;
    for (at, part) in parts.iter().enumerate() {
        let part = unit_name(part);
        if is_slice(part) {
            last_slice = Some(Unit { name: part, length: at + 1, user: None });
        } else if kind(part).is_some() {
            return Some(Unit { name: part, length: at + 1, user: None });
        } else {
            break;
        }
    }
    last_slice
}

/// What the path is, as the unit it belongs to.
pub(super) fn named(parts: &[&str]) -> Option<(usize, Found)> {
    let unit = unit_of(parts)?;
    let runtime = match (kind(unit.name), unit.user) {
        (Some("service"), None) => Runtime::SystemdService,
        (Some("scope"), None) => Runtime::SystemdScope,
        (Some("service"), Some(_)) => Runtime::UserService,
        (Some("scope"), Some(_)) => Runtime::UserScope,
        (Some(_), _) => Runtime::SystemdOther,
        (None, _) => Runtime::SystemdSlice,
    };
    // A slice is a place for units; a group in it that is none is not the slice.
    if runtime == Runtime::SystemdSlice && unit.length < parts.len() {
        return None;
    }
    let mut name = format!("unit:{}", unescape(unit.name));
    if let Some(user) = unit.user {
        name.push_str(&format!(" (user {user})"));
    }
    Some((unit.length, Found::new(runtime, name)))
}

fn is_slice(part: &str) -> bool {
    part.strip_suffix(".slice").is_some_and(|name| !name.is_empty())
}

/// The type of a unit that can have processes of its own.
fn kind(part: &str) -> Option<&str> {
    let (name, kind) = part.rsplit_once('.')?;
    let known = matches!(kind, "service" | "scope" | "mount" | "socket" | "swap");
    (known && !name.is_empty()).then_some(kind)
}

/// systemd puts `_` before a name that the cgroup file system could take for a file of its own.
fn unit_name(part: &str) -> &str {
    let rest = part.strip_prefix('_');
    rest.filter(|rest| is_slice(rest) || kind(rest).is_some()).unwrap_or(part)
}

/// Undoes `\x2d` and the like; what is no escape, or would not be text, stays.
pub(super) fn unescape(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = rest.strip_prefix(b"\\x").and_then(|digits| {
            let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
            // A sign would be taken for part of the number.
            let digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(digits)?;
            u8::from_str_radix(digits, 16).ok()
        });
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}
