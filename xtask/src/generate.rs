//! Generated pages: manual, completions, schemas, metric documentation.
//!
//! Each page is a function from nothing to text; this module writes it, or says that the committed
//! copy differs. A difference is a failure of `ci`, with the command that cures it.

use std::path::Path;

/// What to do with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write every page.
    Write,
    /// Write nothing; say which pages differ.
    Check,
}

/// One generated page: where it lives, from the top of the checkout, and what it says.
struct Page {
    path: String,
    text: String,
}

/// All generated pages.
fn pages() -> Vec<Page> {
    unthrottle::report::contract::schemas()
        .into_iter()
        .map(|(name, schema)| Page {
            path: format!("docs/reference/schema/{name}.json"),
            text: format!("{:#}\n", schema.as_value()),
        })
        .collect()
}

/// Writes or checks all pages below `root`. `false` if a page differs or could not be written.
pub fn run(root: &Path, mode: Mode) -> bool {
    let mut good = true;
    for page in pages() {
        let path = root.join(&page.path);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == page.text) {
            continue;
        }
        match mode {
            Mode::Check => {
                eprintln!("{}: out of date: run `cargo xtask gen`", page.path);
                good = false;
            }
            Mode::Write => match write(&path, &page.text) {
                Ok(()) => println!("wrote {}", page.path),
                Err(error) => {
                    eprintln!("{}: cannot write: {error}", page.path);
                    good = false;
                }
            },
        }
    }
    good
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text)
}
