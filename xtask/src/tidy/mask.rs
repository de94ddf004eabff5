//! Rust text without what is not code: comments, strings, test modules.
//!
//! Masked text has the same length and the same lines, with spaces in place of what was hidden, so
//! that a search in it finds code only and line numbers stay true. It is no parser: text that does
//! not compile gives some masked text, never an error.

/// `text` with comments and the contents of string and character literals replaced by spaces.
pub fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = hidden_end(bytes, at);
        if end > at {
            blank(&mut out, at, end);
            at = end;
        } else {
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `code` with the items behind `#[cfg(test)]` replaced by spaces too.
pub fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for marker in ["#[cfg(test)]", "#[cfg(all(test"] {
        for (start, _) in code.match_indices(marker) {
            let end = item_end(code.as_bytes(), start + marker.len());
            blank(&mut out, start, end);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn blank(out: &mut [u8], from: usize, to: usize) {
    for byte in &mut out[from..to] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// Where the item that begins behind `from` ends: at its `;`, or with its braces.
fn item_end(code: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b';' if depth == 0 => return at + 1,
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The end of the comment or literal that begins at `at`; `at` itself if none does.
fn hidden_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return block_comment_end(bytes, at);
    }
    if rest[0] == b'"' {
        return quoted_end(bytes, at + 1, b'"');
    }
    if rest[0] == b'\'' {
        return character_end(bytes, at);
    }
    let inside_a_word = at > 0 && is_word(bytes[at - 1]);
    if rest[0] == b'r' && (!inside_a_word || is_prefixed(bytes, at)) {
        return raw_string_end(bytes, at);
    }
    at
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// `br"` and `cr"`: the `r` follows a one-letter prefix.
fn is_prefixed(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at - 1], b'b' | b'c') && (at < 2 || !is_word(bytes[at - 2]))
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = at;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at] == quote {
            return at + 1;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// A character literal, unless the quote begins a lifetime (`'a` without a closing quote).
fn character_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at + 1) {
        Some(b'\\') => quoted_end(bytes, at + 1, b'\''),
        Some(first) => {
            let width = match first {
                0..=0x7f => 1,
                0x80..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xff => 4,
            };
            if bytes.get(at + 1 + width) == Some(&b'\'') { at + 2 + width } else { at }
        }
        None => at,
    }
}

fn raw_string_end(bytes: &[u8], at: usize) -> usize {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = at + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return at;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let inside = &bytes[open + 1..];
    inside
        .windows(close.len())
        .position(|window| window == close)
        .map_or(bytes.len(), |found| open + 1 + found + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of `text`, runs of spaces as one.
    fn left(text: &str) -> String {
        let masked = code(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked.lines().count(), text.lines().count());
        masked.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_hidden_and_code_is_not() {
        for (text, expected) in [
            ("a // std::fs\nb", "a b"),
            ("a /* x /* y */ z */ b", "a b"),
            ("f(\"std::fs \\\" still\") + g", "f( ) + g"),
            ("r\"\\\" + x", "+ x"),
            ("r#\"say \"hi\" \"# + x", "+ x"),
            ("br##\"a\"# b\"## + x", "b + x"),
            ("for_(\"a\")", "for_( )"),
            ("let c = '\"'; x", "let c = ; x"),
            ("let c = '\\''; x", "let c = ; x"),
            ("let c = 'é'; x", "let c = ; x"),
            ("fn f<'a>(s: &'a str) {}", "fn f<'a>(s: &'a str) {}"),
            ("\"unclosed", ""),
            ("/* unclosed", ""),
            ("number + r", "number + r"),
        ] {
            assert_eq!(left(text), expected, "{text}");
        }
    }

    #[test]
    fn the_item_behind_a_test_mark_is_hidden_and_the_next_is_not() {
        for (text, expected) in [
            ("a();\n#[cfg(test)]\nmod tests { fn f() { x } }\nfn g() {}", "a(); fn g() {}"),
            ("#[cfg(test)]\nmod tests;\nfn g() {}", "fn g() {}"),
            ("#[cfg(all(test, unix))]\nmod tests { y }\nfn g() {}", "fn g() {}"),
            ("#[cfg(test)]\nmod tests {", ""),
        ] {
            let masked = without_tests(text);
            assert_eq!(masked.lines().count(), text.lines().count());
            assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        }
    }
}
